#!/bin/bash
# Stands in for scripts/msrun_launcher.sh of MindFormers, in its nine-argument form, with nothing
# but bash and Python: starts this node's workers, and the scheduler beside them on node 0. Unlike
# with msrun, nodes may share one machine, and what workers print is what the node prints.
set -u

if [ $# -ne 9 ]; then
  echo "usage: $0 'SCRIPT ARGUMENTS' WORKER_NUM LOCAL_WORKER MASTER_ADDR MASTER_PORT NODE_RANK" \
    "LOG_DIR JOIN CLUSTER_TIME_OUT, not $# arguments" >&2
  exit 2
fi
order=$1 worker_num=$2 local_worker=$3 master_addr=$4 master_port=$5 node_rank=$6
log_dir=$7 join=$8 cluster_time_out=$9

if [ "$join" != True ]; then
  echo "JOIN is $join: msrun would leave its workers behind and end with 0; pass True" >&2
  exit 2
fi

export MS_SCHED_HOST=$master_addr MS_SCHED_PORT=$master_port MS_WORKER_NUM=$worker_num
export MS_TOPO_TIMEOUT=$cluster_time_out RANK_SIZE=$worker_num
trap 'kill $(jobs -p) 2>/dev/null' EXIT

declare -A workers
for ((i = 0; i < local_worker; i++)); do
  rank=$((node_rank * local_worker + i))
  eval "MS_ROLE=MS_WORKER MS_NODE_ID=$rank RANK_ID=$rank exec python3 $order" &
  workers[$!]=$rank
done
if [ "$node_rank" -eq 0 ]; then
  mkdir -p "$log_dir"
  eval "MS_ROLE=MS_SCHED MS_NODE_ID=0 exec python3 $order" >"$log_dir/scheduler.log" 2>&1 &
  scheduler=$!
fi

while [ ${#workers[@]} -gt 0 ]; do
  wait -n -p ended "${!workers[@]}" || exit $? # one worker less is the end of all
  unset "workers[$ended]"
done
[ -n "${scheduler-}" ] || exit 0
wait "$scheduler" && exit 0 # the workers of other nodes have signed off there, too
tail -n 20 "$log_dir/scheduler.log" >&2
echo "the workers have trained, but the scheduler saw some that did not sign off; with numpy 2 none" \
  "of MindSpore 2.10 does: pip install 'numpy<2'" >&2
exit 1
