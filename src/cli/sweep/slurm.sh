#!/bin/bash
# Workers of a sweep: one task of the array reads one shard. A task that is requeued or repeated reads what is missing.
# Tasks get the environment of sbatch: credentials of the store, and for a bucket IMGCHECK_STORE_KEY, the path of the file with the key of its entries.
# Two tasks at a time: sbatch --array=0-{last}%2
#SBATCH --job-name=imgcheck-sweep
#SBATCH --array=0-{last}
#SBATCH --cpus-per-task=2
#SBATCH --mem=1G
#SBATCH --requeue
exec imgcheck sweep run "{plan}" --shards {shards} --store "{store}"
