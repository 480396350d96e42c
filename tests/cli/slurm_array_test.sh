#!/usr/bin/env bash
# slurm_array_test.sh PROGRAM: examples/slurm/tune.sbatch as an array of three tasks on the host
# device: the parts are merged, and nothing is left to be measured. In a Slurm of one node that is
# started for it, where Slurm is installed; else the tasks are plain processes.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
script=$here/../../examples/slurm/tune.sbatch
folder=$(mktemp -d)
daemons=()
end() {
  if ((${#daemons[@]})); then
    kill "${daemons[@]}" || true
    sleep 1  # slurmd that nobody answered does not end by itself
    kill -KILL "${daemons[@]}" || true
  fi 2>/dev/null
  rm -rf "$folder"
}
trap end EXIT
cd "$folder"
export AUTOTUNE=$1 RESULTS="$folder/results" SIZES=33,20x40x10 XDG_CACHE_HOME="$folder/cache"
export OPTIONS="--device cpu --template gemm_tiled --only TILE_WIDTH=8,UNROLL=8,PREFETCH=0 --budget 10m"

has_slurm() {
  local program
  for program in munged slurmctld slurmd sbatch; do
    command -v "$program" >/dev/null || [[ -x /usr/sbin/$program ]] || return 1
  done
}

# Daemons of this user, with ports, keys and files of their own.
start_slurm() {
  export PATH=$PATH:/usr/sbin SLURM_CONF="$folder/slurm.conf"
  local user host ports
  user=$(id -un)
  host=$(hostname -s)
  ports=$(python3 -c 'import socket
sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
print(*(s.getsockname()[1] for s in sockets))')
  (umask 077 && head -c 1024 /dev/urandom >munge.key)
  chmod 755 "$folder"  # or munged refuses the folder
  mkdir state spool
  cat >slurm.conf <<END
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=${ports% *}
SlurmdPort=${ports#* }
SlurmUser=$user
SlurmdUser=$user
AuthInfo=socket=$folder/munge.socket
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SchedulerParameters=sched_interval=2,batch_sched_delay=1
SlurmdParameters=config_overrides
GresTypes=gpu
NodeName=$host NodeAddr=127.0.0.1 CPUs=48 Gres=gpu:3
PartitionName=all Nodes=$host Default=YES
END
  touch gpu{0,1,2}
  echo "Name=gpu File=$folder/gpu[0-2]" >gres.conf
  munged --foreground --force --key-file="$folder/munge.key" --socket="$folder/munge.socket" \
    --pid-file="$folder/munged.pid" --seed-file="$folder/munge.seed" \
    --log-file="$folder/munged.log" 2>/dev/null &
  daemons+=($!)
  until [[ -S munge.socket ]]; do kill -0 "${daemons[0]}" || return 1; done
  slurmctld -D >slurmctld.log 2>&1 &
  daemons+=($!)
  slurmd -D -N "$host" >slurmd.log 2>&1 &
  daemons+=($!)
  local end=$((SECONDS + 30))
  while ((SECONDS < end)) && kill -0 "${daemons[1]}" 2>/dev/null; do
    [[ $(timeout 5 sinfo --noheader --format=%T 2>/dev/null) != idle ]] || return 0
    sleep 1
  done
  return 1
}

run_in_slurm() {
  timeout 200 sbatch --wait --array=1-3 --output="$folder/task-%a.txt" "$script" ||
    { tail -n 20 task-*.txt slurm*.log; exit 1; }
}

run_as_processes() {
  export SLURM_ARRAY_TASK_COUNT=3
  local tasks=() task
  for SLURM_ARRAY_TASK_ID in 1 2 3; do
    export SLURM_ARRAY_TASK_ID
    bash "$script" >"task-$SLURM_ARRAY_TASK_ID.txt" 2>&1 &
    tasks+=($!)
  done
  for task in "${tasks[@]}"; do
    wait "$task" || { cat task-*.txt; exit 1; }
  done
}

if has_slurm && start_slurm; then
  run_in_slurm
else
  tail -n 5 munged.log slurm*.log 2>/dev/null || echo "no Slurm"
  run_as_processes
fi
export AUTOTUNE_DB="$folder/whole.db"
"$AUTOTUNE" db merge "$RESULTS"/part-*.db
# shellcheck disable=SC2086 # several options
"$AUTOTUNE" --sizes "$SIZES" $OPTIONS | tee "$folder/whole.txt"
grep -q '^0 measured, ' "$folder/whole.txt"
