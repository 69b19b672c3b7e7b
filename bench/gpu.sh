#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs all checks and measurements that need a GPU: builds (or unpacks a build), checks every op against the CPU, and compares
# training with PyTorch on the same GPU. Writes results as JSON to $OUT (default: gpu-results). Each job has its own time limit.
# gpu_table.py makes $OUT/table.md, the table of bench/results/h200.md, from all results in $OUT.
#
#   bench/gpu.sh                    on the machine with the GPU: the most important jobs, in ten minutes with the build; lists
#                                   the jobs that did not fit
#   bench/gpu.sh PART…              more jobs, at most ten minutes for each part: check, workloads, sanitizer, gpt2, xl, xl-loss,
#                                   encoders, attention, loss, image, small, split; or all. A result stays in $OUT until a newer run
#                                   replaces it; a failed job deletes nothing. PART_S=SECONDS is the time limit of each part, or
#                                   of the run without parts (590)
#   bench/gpu.sh pack BUILD FILE    on any machine: packs the build directory BUILD with its libraries into FILE (.tar.xz) for a
#                                   machine without compilers; GPUTUNE_BUILD=FILE uses it there
set -u
top=$(cd "$(dirname "$0")/.." && pwd)
fail() { echo "gpu.sh: $*" >&2; exit 1; }

pack() {
	local build=$1 file=$2 dir
	dir=$(mktemp -d) || exit 1
	mkdir "$dir/lib"
	for tool in gpubench gpuprobe tests/peers/rt_case; do
		[ -x "$build/$tool" ] || fail "$build/$tool is missing: make $tool"
		cp "$build/$tool" "$dir/" && strip "$dir/${tool##*/}"
	done
	# All libraries except the C library, which must be the other machine's.
	ldd "$build/gpubench" "$build/gpuprobe" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u |
		grep -vE '/(libc|libm|libdl|librt|libpthread|ld-linux[^/]*)\.so' | xargs -I{} cp -L {} "$dir/lib/"
	tar -C "$dir" -cJf "$file" . && ls -l "$file"
	rm -rf "$dir"
}

if [ "${1:-}" = pack ]; then
	[ $# -eq 3 ] || fail "usage: gpu.sh pack BUILD FILE"
	pack "$2" "$3"
	exit
fi

PARTS=$*
ALL="check gpt2 xl xl-loss image loss attention workloads encoders small split sanitizer" # the most important job first
for part in $PARTS; do
	case " $ALL all " in
	*" $part "*) ;;
	*) fail "no part $part: $ALL all" ;;
	esac
done
[ "$PARTS" != all ] || PARTS=$ALL
PATH=$PATH:/usr/local/cuda/bin # where NVIDIA's packages put nvcc and compute-sanitizer
PART_S=${PART_S:-590}
TEXT=${TEXT:-/usr/share/common-licenses} # training text of xl-loss
work=$(mktemp -d) || exit 1
OUT=$(realpath -m "${OUT:-gpu-results}") && mkdir -p "$OUT" || fail "cannot make $OUT"
trap 'rm -rf "$work"' EXIT
# Without persistence mode, each program that is the first on the GPU would wait for the driver's start.
{ exec 9</dev/nvidia0; } 2>/dev/null || :

# ---- a program to run ----
if [ -n "${GPUTUNE_BUILD:-}" ]; then
	tar -C "$work" -xJf "$GPUTUNE_BUILD" 2>/dev/null || # if xz is missing, Python unpacks the file
		python3 -m tarfile -e "$GPUTUNE_BUILD" "$work" || fail "cannot unpack $GPUTUNE_BUILD"
else
	missing=
	for tool in gcc g++ make autoreconf pkg-config nvcc; do
		command -v "$tool" >/dev/null || missing="$missing $tool"
	done
	[ -z "$missing" ] || fail "missing:$missing; install them, or carry a build: GPUTUNE_BUILD=FILE made by gpu.sh pack"
	# Only for this machine's GPUs, because building the kernels of all architectures takes minutes.
	gencode=
	for cap in $(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | tr -d . | sort -u); do
		gencode="$gencode -gencode arch=compute_$cap,code=sm_$cap"
	done
	cp -r "$top" "$work/src" && cd "$work/src" && autoreconf -fi >/dev/null 2>&1 && ./configure -q >"$OUT/configure.log" 2>&1 &&
		make -j"$(nproc)" ${gencode:+"NVCC_GENCODE=$gencode"} gpubench gpuprobe tests/peers/rt_case >"$OUT/make.log" 2>&1 ||
		fail "the build failed: $OUT/configure.log, $OUT/make.log"
	cp gpubench gpuprobe tests/peers/rt_case "$work/"
	cd "$work" || exit 1
fi
gpubench=$work/gpubench
# The packed libraries are only for gputune's programs, because PyTorch, compilers and NVIDIA's tools use other libraries of these
# names. gpubench finds NVIDIA's libraries by itself.
beside=()
[ -d "$work/lib" ] && beside=(env "LD_LIBRARY_PATH=$work/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}")
# gpubench looks next to the python3 in PATH. If that is a script, Python itself prints the directory of its wheels.
python=$(command -v python3)
wheels=$("${python:-false}" -c 'import nvidia; print(list(nvidia.__path__)[0].split("/lib/python")[0])' 2>/dev/null)
[ -n "${VIRTUAL_ENV:-}" ] || [ ! -d "$wheels" ] || beside=("${beside[@]:-env}" "VIRTUAL_ENV=$wheels")
export XDG_CACHE_HOME=$work/cache
# The programs for PyTorch's side start this script.
printf '#!/bin/sh\nexec %s "$0.own" "$@"\n' "${beside[*]@Q}" >"$work/case" && chmod +x "$work/case"
[ ! -e "$work/rt_case" ] || mv "$work/rt_case" "$work/case.own"
"${beside[@]}" "$gpubench" --version >"$OUT/version.log" 2>&1 || fail "gpubench does not run here: $(tail -n 1 "$OUT/version.log")"

# ---- the machine ----
command -v nvidia-smi >/dev/null || echo "gpu.sh: no nvidia-smi: clocks and temperature are not recorded" >&2
look() { nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,temperature.gpu,power.draw,clocks_event_reasons.active \
	--format=csv,noheader 2>/dev/null || echo "no nvidia-smi"; }
# The GPUs that this process sees. CUDA_VISIBLE_DEVICES ends at the first invalid number.
cards() {
	local n seen=0 each
	n=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU ')
	n=$((n ? n : 1))
	[ -n "${CUDA_VISIBLE_DEVICES+set}" ] || { echo "$n"; return; }
	for each in $(echo "$CUDA_VISIBLE_DEVICES" | tr , ' '); do
		case $each in
		-* | *[!0-9]*) [ "${each#GPU-}" != "$each" ] || break ;;
		*) [ "$each" -lt "$n" ] || break ;;
		esac
		seen=$((seen + 1))
	done
	echo $((seen ? seen : 1))
}
timeout -k 5 60 "${beside[@]}" "$work/gpuprobe" --json >"$OUT/probe.json" 2>"$OUT/probe.log"

# ---- jobs: name, seconds, command. The exit status, the GPU and the time are stored with each result ----
echo "# $(date -u +%FT%TZ) ${PARTS:-in ten minutes}" >>"$OUT/jobs.txt"
failed=0 left_out=0
leave_out() { # name, reason, command
	local name=$1 why=$2
	shift 2
	left_out=$((left_out + 1))
	printf '%s\tleft out: %s\t%s\n' "$name" "$why" "$*" | tee -a "$OUT/jobs.txt"
}
job() {
	local name=$1 limit=$2 start=$SECONDS status left=$((deadline - SECONDS - 5)) shown
	shift 2
	shown=${*//"$work/"/}
	shown=${shown//"$top/"/}
	shown=${shown//"$OUT/"/}
	if [ $left -lt 10 ]; then
		leave_out "$name" 'the ten minutes are over' "$shown"
		return
	fi
	[ "$limit" -le $left ] || limit=$left
	timeout -k 5 "$limit" "$@" >"$work/answer" 2>"$OUT/$name.log"
	status=$?
	[ ! -s "$work/answer" ] || mv "$work/answer" "$OUT/$name.json"
	printf '%s\texit %d\t%d s\t%s\t%s\n' "$name" $status $((SECONDS - start)) "$(look)" "$shown" | tee -a "$OUT/jobs.txt"
	[ $status -ne 0 ] || return 0
	failed=$((failed + 1))
	tail -n 3 "$OUT/$name.log" | cut -c 1-300 | sed 's/^/    /'
}

has_torch=
torch() { # determined once, because this takes seconds
	[ -n "$has_torch" ] || has_torch=$(timeout -k 5 90 "${python:-false}" -c \
		'import torch; assert torch.cuda.is_available(); print("yes")' 2>"$OUT/torch.log" | grep -x yes || echo no)
	[ "$has_torch" = yes ]
}
ours() { # name, seconds, arguments of gpubench
	local name=$1 limit=$2
	shift 2
	job "$name" "$limit" "${beside[@]}" "$gpubench" "$@"
}
theirs() { # name, seconds, PyTorch script
	local name=$1 limit=$2
	shift 2
	if torch; then
		job "$name" "$limit" "$python" "$@"
	else
		leave_out "$name" "no PyTorch that sees a card" "${*//"$top/"/}"
	fi
}
train() { # name, seconds, options of gpubench and of the PyTorch script
	local name=$1 limit=$2
	shift 2
	ours "ours-$name" "$limit" train "$@" --device cuda --json --quiet
}
peer() {
	local name=$1 limit=$2
	shift 2
	theirs "torch-$name" "$limit" "$top/tests/peers/torch_train.py" "$@" --device cuda
}
copies() { # copies over the link, by gpubench and by PyTorch
	ours copies 40 launch gpu.matrix --json --seed 1
	theirs torch-copies 60 "$top/tests/peers/torch_copies.py"
}
part_check() { # one job per type, so that a failed type does not stop the others
	for type in bf16 f32 tf32 f16 fp8; do
		ours check-$type 74 check-device --type $type --json
	done
	copies
	# A separate communicator, which needs NCCL.
	ours check-ranks 60 check-device --type tf32 --ranks 1 --json
	# Between all GPUs. A single GPU moves no bytes and reports 0 by definition, but shows that a separate communicator works.
	job allreduce 50 env GPUBENCH_NCCL_RANKS="$(cards)" "${beside[@]}" "$gpubench" launch gpu.allreduce --json --seed 1
}

part_workloads() { # workloads as users run them; training workloads are compared with the CPU before each run
	ours workloads 150 run --workload gpu.copy,gpu.matrix,gpu.feed,gpu.launch,gpu.gemm --pairs 3 --quiet \
		-o "$OUT/workloads-result.json"
	for model in mlp gpt2 resnet; do
		ours workload-$model 140 run --workload train.gpu.$model --pairs 2 --quiet -o "$OUT/workload-$model-result.json"
	done
}

part_sanitizer() { # every kernel of each type, and a captured step
	local with=(compute-sanitizer --error-exitcode 9 --log-file)

	if ! command -v compute-sanitizer >/dev/null; then
		leave_out sanitizer 'no compute-sanitizer' "${with[*]}"
		return
	fi
	job sanitizer-step 60 "${beside[@]}" "${with[@]}" "$OUT/sanitizer-step.txt" \
		"$gpubench" train gpt --device cuda --steps 2 --layers 1 --amp bf16 --json
	job sanitizer-races 60 "${beside[@]}" "${with[@]}" "$OUT/sanitizer-races.txt" --tool racecheck \
		"$gpubench" train gpt --device cuda --steps 2 --layers 1 --amp bf16 --json
	for type in bf16 f32 f16 fp8; do
		job sanitizer-$type 115 "${beside[@]}" "${with[@]}" "$OUT/sanitizer-$type.txt" \
			"$gpubench" check-device --type $type --json
	done
}

part_gpt2() { # 124M with many and with few tokens, a profile, and the other types
	train gpt2-b64 60 gpt2 --batch 64 --seq 1024 --amp bf16 --steps 10
	peer gpt2-b64 150 gpt2 --batch 64 --seq 1024 --amp bf16 --steps 10 --compile --fused --pad-vocab
	train gpt2-b4 45 gpt2 --batch 4 --seq 1024 --amp bf16 --steps 20
	peer gpt2-b4 120 gpt2 --batch 4 --seq 1024 --amp bf16 --steps 20 --compile reduce-overhead --fused --pad-vocab
	train gpt2-profile 50 gpt2 --batch 64 --seq 1024 --amp bf16 --steps 5 --profile --trace "$OUT/gpt2-trace.json"
	train gpt2-master-none 50 gpt2 --batch 64 --seq 1024 --amp bf16 --master none --steps 10
	train gpt2-fp8 50 gpt2 --batch 64 --seq 1024 --amp fp8 --steps 10
	train gpt2-fp16 50 gpt2 --batch 64 --seq 1024 --amp fp16 --steps 10
}

xl="gpt2 --layers 48 --width 1600 --heads 25 --seq 1024" # 1558M
part_xl() {
	train xl-bf16 120 $xl --batch 16 --amp bf16 --steps 8
	train xl-fp8 120 $xl --batch 16 --amp fp8 --steps 8
	peer xl-bf16 300 $xl --batch 16 --amp bf16 --steps 8 --compile --fused --pad-vocab
}

# The same text in the same order: speed and loss of fp8 over 200 steps of 16k tokens.
part_xl-loss() {
	for type in bf16 fp8; do
		train xl-loss-$type 290 $xl --batch 16 --amp $type --data "$TEXT" --steps 200
	done
}

part_encoders() { # attention without a causal mask: selected kernels and a profile
	train bert-b64 60 bert --batch 64 --seq 512 --amp bf16 --steps 10
	train bert-b64-own 60 bert --batch 64 --seq 512 --amp bf16 --attention own --steps 10
	train bert-b64-profile 60 bert --batch 64 --seq 512 --amp bf16 --steps 5 --profile
	train vit-b256 60 vit --batch 256 --amp bf16 --steps 10
	train vit-b256-own 60 vit --batch 256 --amp bf16 --attention own --steps 10
	train vit-b256-profile 60 vit --batch 256 --amp bf16 --steps 5 --profile
}

part_attention() { # gpubench's kernels compared with cuDNN's, in a step and each kernel
	train gpt2-attention-own 60 gpt2 --batch 64 --seq 1024 --amp bf16 --attention own --steps 10
	train gpt2-attention-cudnn 60 gpt2 --batch 64 --seq 1024 --amp bf16 --attention cudnn --steps 10
	train gpt2-attention-own-profile 60 gpt2 --batch 64 --seq 1024 --amp bf16 --attention own --steps 5 --profile
	train gpt2-attention-cudnn-profile 60 gpt2 --batch 64 --seq 1024 --amp bf16 --attention cudnn --steps 5 --profile
	train xl-attention-own 100 $xl --batch 16 --amp bf16 --attention own --steps 5
	train xl-attention-cudnn 100 $xl --batch 16 --amp bf16 --attention cudnn --steps 5
}

# The same text in the same order: the loss of each type over 200 steps.
part_loss() { # the loss of each step, compared with PyTorch's from the same weights
	theirs torch-curves 90 "$top/tests/peers/torch_curves.py" "$work/case"
	local of="gpt --layers 12 --width 768 --heads 12 --seq 512 --batch 16 --steps 200"
	train loss-bf16 90 $of --amp bf16
	train loss-fp8 90 $of --amp fp8
	train loss-master-none 90 $of --amp bf16 --master none
	train loss-fp16 90 $of --amp fp16
	train loss-f32 120 $of --amp tf32
}

part_image() {
	train resnet50 120 resnet50 --batch 256 --size 224 --amp bf16 --steps 15
	train resnet50-profile 90 resnet50 --batch 256 --size 224 --amp bf16 --steps 5 --profile
	train resnet50-tf32 60 resnet50 --batch 64 --size 224 --amp tf32 --steps 10
	train resnet20 45 resnet20 --batch 256 --steps 30
	peer resnet50 150 resnet50 --batch 256 --amp bf16 --steps 15 --compile --fused --channels-last
	train mlp 30 mlp --batch 4096 --amp bf16 --steps 100
	peer mlp 90 mlp --batch 4096 --amp bf16 --steps 100 --compile --fused
}

part_small() { # features that must work, without a speed target
	train gpt 60 gpt --steps 100
	train gpt-bf16 60 gpt --amp bf16 --steps 100
	train gpt-accum 60 gpt --amp bf16 --steps 40 --accum 4 --clip 1
	train gpt-checkpoint 60 gpt --amp bf16 --steps 40 --checkpoint 2
	train gpt-deterministic 60 gpt --amp bf16 --steps 40 --deterministic
	train gpt2-tf32 60 gpt2 --batch 8 --seq 1024 --amp tf32 --steps 10
	train llama 90 llama --amp bf16 --steps 20 # heads that share keys and values
	for function in gelu softmax; do # exit status 6: the result differs from the definition
		for way in basic-ops user-op library; do
			ours op-$function-$way 30 op $function --way $way --device cuda --json
		done
	done
}

split() { # name, options of gpubench: needs two GPUs
	local name=$1
	shift
	if [ "$(cards)" -ge 2 ]; then
		train "$name" 60 "$@"
	else
		leave_out "ours-$name" 'needs two GPUs' "gpubench train $* --device cuda"
	fi
}
part_split() { # a model whose layers or stages are on two GPUs, compared with one GPU
	local of="gpt2 --batch 8 --seq 1024 --amp bf16 --steps 20"
	train split-one 60 $of
	split split-tp $of --tp 2
	split split-sp $of --tp 2 --sp
	split split-pp $of --pp 2
}

# The first jobs on a GPU, the most important one first.
in_ten_minutes() {
	ours check-bf16 120 check-device --type bf16 --json
	train gpt2-b64 50 gpt2 --batch 64 --seq 1024 --amp bf16 --steps 10
	peer gpt2-b64 100 gpt2 --batch 64 --seq 1024 --amp bf16 --steps 10 --compile --fused --pad-vocab
	train gpt2-b4 40 gpt2 --batch 4 --seq 1024 --amp bf16 --steps 20
	train gpt2-profile 40 gpt2 --batch 64 --seq 1024 --amp bf16 --steps 5 --profile # each kernel compared with its minimum time
	train xl-bf16 60 $xl --batch 16 --amp bf16 --steps 5
	train xl-fp8 60 $xl --batch 16 --amp fp8 --steps 5
	train resnet50 60 resnet50 --batch 256 --size 224 --amp bf16 --steps 15
	peer resnet50 90 resnet50 --batch 256 --amp bf16 --steps 15 --compile --fused --channels-last
	copies
	peer xl-bf16 150 $xl --batch 16 --amp bf16 --steps 5 --compile --fused --pad-vocab
	peer gpt2-b4 90 gpt2 --batch 4 --seq 1024 --amp bf16 --steps 20 --compile reduce-overhead --fused --pad-vocab
	for type in bf16 fp8; do # a gain of fp8 counts only at the same loss
		train xl-loss-$type 100 $xl --batch 16 --amp $type --data "$TEXT" --steps 200
	done
}

deadline=$PART_S # time limit of the whole run or of its first part, including the build
[ -n "$PARTS" ] || in_ten_minutes
for part in $PARTS; do
	part_$part
	deadline=$((SECONDS + PART_S))
done
if [ -n "$python" ] && "$python" "$top/bench/gpu_table.py" "$OUT" >"$work/table.md"; then
	mv "$work/table.md" "$OUT/table.md" && cat "$OUT/table.md"
else
	echo "gpu.sh: no table: python3 bench/gpu_table.py $OUT makes it" >&2
fi
echo "gpu.sh: $failed jobs failed, $left_out were left out; results in $OUT"
[ $((failed + left_out)) -eq 0 ]
