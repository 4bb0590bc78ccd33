#!/bin/bash
# Workers of a sweep: one task of the array reads one shard. A task that is requeued or repeated reads what is missing.
#SBATCH --job-name=imgcheck-sweep
#SBATCH --array=0-{last}
#SBATCH --cpus-per-task=2
#SBATCH --mem=1G
#SBATCH --requeue
exec imgcheck sweep run "{plan}" --shards {shards} --store "{store}"
