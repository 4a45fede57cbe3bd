# What the parts share. Each sources it.

# Installs packages from PyPI into an environment with this name; `python` is its interpreter.
python_packages() {
    local place="$PEERS_CACHE/python-$1"
    shift
    [ -x "$place/bin/python" ] || python3 -m venv "$place"
    python="$place/bin/python"
    if [ "$(cat "$place/installed" 2>/dev/null)" != "$*" ]; then
        "$place/bin/pip" install --quiet --disable-pip-version-check "$@"
        echo "$*" >"$place/installed"
    fi
}

# Installs packages from npm into a folder with this name. `PEERS_NPM` is where they are, and `NODE` runs them: the Node of
# this machine if it is of this version or newer, else one of npm's.
npm_packages() {
    local place="$PEERS_CACHE/npm-$1" version="$2"
    shift 2
    local packages=("$@")
    NODE="$(command -v node || true)"
    if [ -z "$NODE" ] || [ "$("$NODE" -p 'process.versions.node.split(".")[0]')" -lt "$version" ]; then
        packages+=('node@24')
        NODE="$place/node_modules/node/bin/node"
    fi
    if [ "$(cat "$place/installed" 2>/dev/null)" != "${packages[*]}" ]; then
        npm install --silent --no-audit --no-fund --prefix "$place" "${packages[@]}"
        echo "${packages[*]}" >"$place/installed"
    fi
    PEERS_NPM="$place/node_modules"
    export NODE PEERS_NPM
}

running=()
stop() {
    [ "${#running[@]}" -eq 0 ] || kill "${running[@]}" 2>/dev/null || true
    running=()
}
trap stop EXIT

# Starts a fake platform on a free port; `base` is where it is.
fake() {
    stop
    : >"$TMPDIR/fake"
    "$AIZUCHI" dev "$1" --listen 127.0.0.1:0 >"$TMPDIR/fake" &
    running+=($!)
    until base="$(grep -m1 -o 'http://[0-9.:]*' "$TMPDIR/fake")"; do
        kill -0 "${running[-1]}"
        sleep 0.05
    done
}
