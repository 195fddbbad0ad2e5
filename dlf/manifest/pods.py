"""What dlf writes of corev1.PodTemplateSpec."""

from msgspec import field

from dlf.manifest.meta import ObjectMeta, Written


class FieldRef(Written):
    """corev1.ObjectFieldSelector: a value from the pod's own object."""

    field_path: str


class EnvVarSource(Written):
    """corev1.EnvVarSource."""

    field_ref: FieldRef


class EnvVar(Written):
    """corev1.EnvVar. An empty value is a value: only None leaves it out."""

    name: str
    value: str | None = None
    value_from: EnvVarSource | None = None


class ContainerPort(Written):
    """corev1.ContainerPort."""

    name: str
    container_port: int


class Resources(Written):
    """corev1.ResourceRequirements: resource name to quantity."""

    requests: dict[str, str] = {}
    limits: dict[str, str] = {}


class VolumeMount(Written):
    """corev1.VolumeMount."""

    name: str
    mount_path: str
    sub_path: str = ""
    read_only: bool = False


class Capabilities(Written):
    """corev1.Capabilities."""

    add: list[str] = []


class SecurityContext(Written):
    """corev1.SecurityContext."""

    privileged: bool | None = None
    capabilities: Capabilities | None = None


class Container(Written):
    """corev1.Container."""

    name: str
    image: str = ""
    image_pull_policy: str = ""
    working_dir: str = ""
    command: list[str] = []
    ports: list[ContainerPort] = []
    env: list[EnvVar] = []
    resources: Resources | None = None
    volume_mounts: list[VolumeMount] = []
    security_context: SecurityContext | None = None


class ClaimSource(Written):
    """corev1.PersistentVolumeClaimVolumeSource."""

    claim_name: str


class NfsSource(Written):
    """corev1.NFSVolumeSource."""

    server: str
    path: str


class HostPathSource(Written):
    """corev1.HostPathVolumeSource."""

    path: str


class ConfigMapSource(Written):
    """corev1.ConfigMapVolumeSource."""

    name: str


class KeyToPath(Written):
    """corev1.KeyToPath."""

    key: str
    path: str


class SecretSource(Written):
    """corev1.SecretVolumeSource."""

    secret_name: str
    items: list[KeyToPath] = []
    default_mode: int | None = None


class EmptyDirSource(Written):
    """corev1.EmptyDirVolumeSource."""

    medium: str = ""
    size_limit: str = ""


class Volume(Written):
    """corev1.Volume: a name and one source."""

    name: str
    persistent_volume_claim: ClaimSource | None = None
    nfs: NfsSource | None = None
    host_path: HostPathSource | None = None
    config_map: ConfigMapSource | None = None
    secret: SecretSource | None = None
    empty_dir: EmptyDirSource | None = None


class LocalObjectReference(Written):
    """corev1.LocalObjectReference."""

    name: str


class LabelSelector(Written):
    """metav1.LabelSelector, equality only."""

    match_labels: dict[str, str]


class PodAffinityTerm(Written):
    """corev1.PodAffinityTerm."""

    label_selector: LabelSelector
    topology_key: str


class WeightedPodAffinityTerm(Written):
    """corev1.WeightedPodAffinityTerm."""

    weight: int
    pod_affinity_term: PodAffinityTerm


class PodAntiAffinity(Written):
    """corev1.PodAntiAffinity, preferred terms only."""

    preferred: list[WeightedPodAffinityTerm] = field(
        name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class NodeSelectorRequirement(Written):
    """corev1.NodeSelectorRequirement."""

    key: str
    operator: str
    values: list[str] = []


class NodeSelectorTerm(Written):
    """corev1.NodeSelectorTerm."""

    match_expressions: list[NodeSelectorRequirement]


class NodeSelector(Written):
    """corev1.NodeSelector."""

    node_selector_terms: list[NodeSelectorTerm]


class NodeAffinity(Written):
    """corev1.NodeAffinity, required terms only."""

    required: NodeSelector = field(name="requiredDuringSchedulingIgnoredDuringExecution")


class Affinity(Written):
    """corev1.Affinity."""

    node_affinity: NodeAffinity | None = None
    pod_anti_affinity: PodAntiAffinity | None = None


class Toleration(Written):
    """corev1.Toleration. An empty effect matches every effect."""

    key: str
    operator: str
    value: str = ""
    effect: str = ""


class PodSpec(Written):
    """corev1.PodSpec."""

    containers: list[Container]
    init_containers: list[Container] = []
    restart_policy: str = ""
    volumes: list[Volume] = []
    image_pull_secrets: list[LocalObjectReference] = []
    node_selector: dict[str, str] = {}
    affinity: Affinity | None = None
    scheduler_name: str = ""
    priority_class_name: str = ""
    tolerations: list[Toleration] = []
    service_account_name: str = ""
    host_network: bool = False
    dns_policy: str = ""


class PodTemplate(Written):
    """corev1.PodTemplateSpec."""

    metadata: ObjectMeta
    spec: PodSpec
