# What the set-up commands share; sourced by them. Sets `root`, the repository's folder, and goes there.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$root"
started=$SECONDS
# Compiler results are found again in another checkout.
export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1

say() { printf '\n== %s (%d s)\n' "$*" $((SECONDS - started)); }

fail() {
  printf '%s: %s\n' "${0##*/}" "$*" >&2
  exit 1
}

as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    fail "packages are missing and must be installed as root: run it as root, or install sudo."
  fi
}

# install_packages PURPOSE…: installs what tools/setup/packages.txt lists for these purposes and is not there.
install_packages() {
  local purpose package missing=()
  command -v apt-get >/dev/null || fail "this is not Debian: there is no apt-get to install packages with."
  if ! grep -qs 'VERSION_CODENAME=bookworm' /etc/os-release; then
    echo "This is not Debian 12 (bookworm), for which Sluice is made; it may work all the same."
  fi
  for purpose in "$@"; do
    for package in $(sed -n "s/^$purpose  *//p" tools/setup/packages.txt); do
      [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
    done
  done
  if [ ${#missing[@]} = 0 ]; then
    echo "all packages are there"
    return
  fi
  echo "installing from Debian: ${missing[*]}"
  as_root apt-get update -q
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}" </dev/null ||
    fail "apt-get could not install the packages above."
}
