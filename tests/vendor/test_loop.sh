#!/bin/sh
# labels: null single
# loop.awk finds the main loop in listings of each vendor's form and counts it, and run.sh notices a limit that is not
# kept, where a compiler for AMD is installed.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d "${MICA_BUILD_DIR:-${TMPDIR:-/tmp}}/loop.XXXXXX")
trap 'rm -rf "$work"' EXIT

# counts "FIGURES": loop.awk makes this of the listing on standard input.
counts() {
  found=$(awk -f "$here/loop.awk" -)
  [ "$found" = "$1" ] || { echo "wanted $1, got $found"; exit 1; }
}

# A short loop without multiply-adds, then one with four, in which the load is waited for behind three.
counts "8 4 1 0 3" <<'EOF'
kernel:
        s_load_dwordx4 s[0:3], s[4:5], 0x0
.LBB0_1:
        s_add_i32 s0, s0, 1
        s_cbranch_scc1 .LBB0_1
.LBB0_2:                                ; %loop
        global_load_dwordx4 v[0:3], v[8:9], off
        v_pk_fma_f32 v[4:5], v[10:11], v[12:13], v[4:5]
        v_fmac_f32_e32 v6, v10, v12
        v_fma_f32 v7, v10, v12, v7
        s_waitcnt vmcnt(0)
        v_fma_f32 v7, v0, v12, v7
        s_add_i32 s0, s0, 1
        s_cbranch_scc1 .LBB0_2
        s_endpgm
EOF

counts "5 2 0 1 1" <<'EOF'
                Function : kernel
        /*0000*/                   MOV R1, c[0x0][0x28] ;                /* 0x00000a0000017a02 */
        /*0010*/                   LDG.E R2, [R4.64] ;                   /* 0x0000000404027981 */
        /*0020*/                   FFMA R8, R9, R10, R8 ;                /* 0x0000000a09087223 */
        /*0030*/                   FFMA R8, R2, R10, R8 ;                /* 0x0000000a02087223 */
        /*0040*/                   IADD3 R4, R4, 0x4, RZ ;               /* 0x0000000404047810 */
        /*0050*/              @!P0 BRA 0x10 ;                            /* 0xffffffb000008947 */
        /*0060*/                   EXIT ;                                /* 0x000000000000794d */
EOF

# Copies in the background are loads, their barrier is none, and no register waits for them.
counts "5 1 1 0 0" <<'EOF'
        /*0010*/                   LDGSTS.E.BYPASS.128.ZFILL [R15], [R12.64], P5 ; /* 0x000000000c0f7fae */
        /*0020*/                   LDGDEPBAR ;                           /* 0x00000000000079af */
        /*0030*/                   HMMA.16816.F32 R4, R12, R10, R4 ;     /* 0x0000000a0c04723c */
        /*0040*/                   DEPBAR.LE SB0, 0x1 ;                  /* 0x000080400000791a */
        /*0050*/              @!P0 BRA 0x10 ;                            /* 0xffffffb000008947 */
EOF

counts "4 1 1 0 0" <<'EOF'
L0:
(W)     mov (8|M0)               r127.0<1>:ud  0x0:ud
L8:
        send.dc1 (8|M0)          r1       r127    null:0  0x0            0x022843FD           {$0} // read
        mad (8|M0)               r10.0<1>:f    r10.0<1;0>:f  r1.0<1;0>:f  r2.0<0>:f   {$0.dst}
        mad (1|M0)               r11.0<1>:d    r11.0<0;0>:d  r1.0<0;0>:d  r2.0<0>:d
(f0.0)  jmpi                     L8
EOF

counts "0 0 0 0 0" </dev/null

bin=${MICA_BUILD_DIR:-build}/bin/mica-kernels
[ -x "$bin" ] || exit 0
options='D_T=f32.*STAGE=2.*TILE=2'
printf 'gfx90a winograd_outputs %s 256 0 0 0\n' "$options" >"$work/kept"
printf 'gfx90a winograd_outputs %s 4 0 0 0\n' "$options" >"$work/broken"
printf 'gfx90a no_such_kernel %s 256 0 0 0\n' "$options" >"$work/gone"
build=$(cd "$(dirname "$bin")/.." && pwd)
status=0
sh "$here/run.sh" --build "$build" --limits "$work/kept" >"$work/out" || status=$?
if [ "$status" != 77 ]; then # there is a compiler
  [ "$status" = 0 ] || { cat "$work/out"; exit 1; }
  ! sh "$here/run.sh" --build "$build" --limits "$work/broken" >"$work/out" || exit 1
  grep -q '^LIMIT gfx90a winograd_outputs .* registers, not 4$' "$work/out" || { cat "$work/out"; exit 1; }
  ! sh "$here/run.sh" --build "$build" --limits "$work/gone" >"$work/out" 2>&1 || exit 1
  grep -q 'no kernel' "$work/out" || { cat "$work/out"; exit 1; }
fi

# Loops that nothing could count are not passed over in silence.
printf 'sm_80 winograd_outputs %s 256 0 0 0\n' "$options" >"$work/nvidia"
status=0
MICA_CUOBJDUMP=no-cuobjdump sh "$here/run.sh" --build "$build" --limits "$work/nvidia" >"$work/out" || status=$?
[ "$status" != 77 ] || exit 0 # no ptxas
[ "$status" = 0 ] && grep -q '^SKIP main loops of sm_80: no no-cuobjdump ' "$work/out" || { cat "$work/out"; exit 1; }
