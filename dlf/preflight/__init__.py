"""What `dlf check` looks at before a job is submitted: capacity, references, permissions."""
