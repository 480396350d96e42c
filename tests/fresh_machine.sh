#!/usr/bin/env bash
# Runs README's two commands, as they stand there, on a fresh machine: a root with what debootstrap
# puts there and nothing else except this machine's settings of apt, pip and certificates, and the
# files of HEAD. It ends with the times and the line that each command ended with.
# usage: fresh_machine.sh [--suite SUITE] [--command COMMAND]... [FOLDER]
# Commands that are given take the place of README's. FOLDER keeps the root, and one that is there
# is used again as it is; without FOLDER nothing is left. SUITE is this machine's unless given.
# Ends with 3 where no such root can be made.
set -euo pipefail

cannot() {
  echo "no fresh machine: $*" >&2
  exit 3
}

this_suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
suite=$this_suite root='' commands=()
options=("$@")
while (($#)); do
  case $1 in
    --suite) suite=${2:?}; shift ;;
    --command) commands+=("${2:?}"); shift ;;
    -*) cannot "there is no option $1" ;;
    *) root=$(realpath -m "$1") ;;
  esac
  shift
done
cd "$(dirname "$0")/.."
if ((${#commands[@]} == 0)); then  # the first block of README
  mapfile -t commands < <(awk '/^```/ { ++fences; next } fences == 1' README.md)
  ((${#commands[@]} == 2)) || cannot "README does not begin with two commands"
fi

end() {
  trap '' INT TERM HUP
  set +e
  kill -KILL "$inside" && wait "$inside"
  [[ $temporary == 0 ]] || rm -rf "$root" || { sleep 2 && rm -rf "$root"; }
} 2>/dev/null

# All that is mounted and started lives in namespaces that end with this process, however it ends.
if [[ -z ${AUTOTUNE_FRESH_ROOT:-} ]]; then
  [[ $EUID -eq 0 ]] && command -v debootstrap >/dev/null || cannot "that needs root and debootstrap"
  unshare --mount --pid --fork true 2>/dev/null || cannot "nothing may be mounted here"
  temporary=0 inside=''
  trap end EXIT
  trap 'exit 130' INT TERM HUP
  [[ -n $root ]] || { temporary=1 && root=$(mktemp -d -p "${TMPDIR:-/var/tmp}"); }
  mkdir -p "$root"
  chmod 755 "$root"
  AUTOTUNE_FRESH_ROOT=$root setpriv --pdeathsig KILL \
    unshare --mount --pid --fork --kill-child "$PWD/tests/fresh_machine.sh" "${options[@]}" &
  inside=$!
  wait "$inside"
  exit
fi
root=$AUTOTUNE_FRESH_ROOT

make_root() {
  local mirror messages setting
  # shellcheck disable=SC2016 # apt fills them in
  mirror=$(apt-get indextargets --format '$(RELEASE) $(COMPONENT) $(REPO_URI)' \
    'Identifier: Packages' | sed -n "s/^$this_suite main //p" | head -n 1)
  eval "$(apt-config shell http_proxy Acquire::http::Proxy)"
  messages=$(debootstrap --variant=minbase "$suite" "$root" "$mirror" 2>&1) ||
    cannot "debootstrap said: $(tail -n 1 <<<"$messages")"
  rm -rf "$root/etc/apt"
  for setting in /etc/{apt,hosts,resolv.conf,pip.conf,ssl/certs/ca-certificates.crt} \
      /usr/share/keyrings /usr/local/share/ca-certificates ~/.config/pip ~/.pip; do
    [[ ! -e $setting ]] || cp -rL --parents "$setting" "$root"
  done
  find "$root/etc/apt" -name '*.list' -o -name '*.sources' |
    xargs -r sed -i "s/\b$this_suite\b/$suite/"
  mkdir -p "$root$HOME/autotune"
  git -c safe.directory='*' archive HEAD | tar -x -C "$root$HOME/autotune"
}

environment=(HOME="$HOME" PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin)
for name in $(compgen -e); do
  case $name in
    *_proxy | *_PROXY | PIP_* | SSL_CERT_* | REQUESTS_CA_BUNDLE) environment+=("$name=${!name}") ;;
  esac
done

[[ -d $root$HOME/autotune ]] || make_root
report=("$suite, as debootstrap has it: $SECONDS s")
mount -t proc proc "$root/proc"
for folder in dev sys; do mount --rbind "/$folder" "$root/$folder"; done
status=0
for command in "${commands[@]}"; do
  start=$SECONDS
  env -i "${environment[@]}" chroot "$root" bash -c "cd ~/autotune && $command" </dev/null 2>&1 |
    tee "$root/output" || status=1
  report+=("$command: $((SECONDS - start)) s" "$(tail -n 1 "$root/output")")
  [[ $status -eq 0 ]] || break
done
printf '%s\n' '' "${report[@]}"
exit $status
