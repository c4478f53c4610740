/**
 * Numbers of the system calls that a confined process is refused, on one
 * architecture.
 *
 * Namespaces do not cover these: the kernel's keyrings are shared with the
 * session of this process, io_uring bypasses other filters, and the kernel's
 * log is the machine's. The rest is a large part of the kernel that no build
 * needs, new namespaces above all: bubblewrap before 0.8 does not refuse them.
 * A lease makes whoever opens the file wait, outside of the sandbox too. Only
 * sockets of the families unix, inet, inet6 and netlink are allowed: others,
 * such as vsock, belong to no network namespace.
 */
interface Calls {
  readonly architecture: number;
  readonly socket: number;
  readonly refused: readonly number[];
  /**
   * The calls that reach into another process, and the offset of the argument
   * that has its id: `ptrace`, `process_vm_readv`, `process_vm_writev` and
   * `pidfd_open`. They are refused for the first process, bubblewrap's: what
   * took it over could outlive its command and the server.
   */
  readonly reaching: readonly (readonly [call: number, processAt: number])[];
  /** `clone` and `unshare`, whose first argument has the namespaces to make. */
  readonly namespaces: readonly number[];
  readonly fcntl: number;
}

/**
 * Offsets in `struct seccomp_data`: the call's number, the architecture, and
 * the low halves of the first two arguments.
 */
const NUMBER_AT = 0;
const ARCHITECTURE_AT = 4;
const FIRST_ARGUMENT_AT = 16;
const SECOND_ARGUMENT_AT = 24;
const IO_URING = [425, 426, 427];
const PIDFD_OPEN = 434;
/** The id of the first process in its namespace. */
const FIRST_PROCESS = 1;
const CALLS: ReadonlyMap<string, Calls> = new Map([
  // add_key, request_key, keyctl, perf_event_open, bpf, userfaultfd, syslog
  [
    "x64",
    {
      architecture: 0xc000003e,
      socket: 41,
      refused: [248, 249, 250, 298, 321, 323, 103, ...IO_URING],
      reaching: [
        [101, SECOND_ARGUMENT_AT],
        [310, FIRST_ARGUMENT_AT],
        [311, FIRST_ARGUMENT_AT],
        [PIDFD_OPEN, FIRST_ARGUMENT_AT],
      ],
      namespaces: [56, 272],
      fcntl: 72,
    },
  ],
  [
    "arm64",
    {
      architecture: 0xc00000b7,
      socket: 198,
      refused: [217, 218, 219, 241, 280, 282, 116, ...IO_URING],
      reaching: [
        [117, SECOND_ARGUMENT_AT],
        [270, FIRST_ARGUMENT_AT],
        [271, FIRST_ARGUMENT_AT],
        [PIDFD_OPEN, FIRST_ARGUMENT_AT],
      ],
      namespaces: [220, 97],
      fcntl: 25,
    },
  ],
]);

/**
 * `clone3` has its flags in memory, where a filter cannot look. Without it the
 * C library uses `clone`.
 */
const CLONE3 = 435;
const CLONE_NEWUSER = 0x10000000;
/** `F_SETLEASE` and `F_SETDELEG`. */
const LEASES = [1024, 1040];
const FAMILIES = [1, 2, 10, 16];

const LOAD = 0x20;
const JUMP_IF_EQUAL = 0x15;
const JUMP_IF_AT_LEAST = 0x35;
const JUMP_IF_ANY_BIT = 0x45;
const RETURN = 0x06;
const ALLOW = 0x7fff0000;
const KILL_PROCESS = 0x80000000;
const ERROR = 0x00050000;
const EPERM = 1;
const ENOSYS = 38;
const EAFNOSUPPORT = 97;
/**
 * First number of the x32 interface. No other system call has a number as
 * large.
 */
const X32 = 0x40000000;

/**
 * A BPF instruction: its code, the number of instructions to skip when true and
 * when false, and its operand.
 */
type Instruction = readonly [
  code: number,
  whenTrue: number,
  whenFalse: number,
  operand: number,
];

/**
 * Returns the BPF program for an architecture, as in `process.arch`; undefined
 * for one other than x64 and arm64, both little-endian.
 */
export function seccompFilter(machine: string): Uint8Array | undefined {
  const calls = CALLS.get(machine);
  if (!calls) return undefined;
  return assemble([
    // A call of another architecture would have other numbers.
    [LOAD, 0, 0, ARCHITECTURE_AT],
    [JUMP_IF_EQUAL, 1, 0, calls.architecture],
    [RETURN, 0, 0, KILL_PROCESS],
    [LOAD, 0, 0, NUMBER_AT],
    [JUMP_IF_AT_LEAST, 0, 1, X32],
    [RETURN, 0, 0, ERROR | EPERM],
    ...calls.refused.flatMap((call) => refusal(call, EPERM)),
    ...refusal(CLONE3, ENOSYS),
    ...calls.reaching.flatMap(([call, processAt]): Instruction[] => [
      [JUMP_IF_EQUAL, 0, 4, call],
      [LOAD, 0, 0, processAt],
      [JUMP_IF_EQUAL, 0, 1, FIRST_PROCESS],
      [RETURN, 0, 0, ERROR | EPERM],
      [RETURN, 0, 0, ALLOW],
    ]),
    // No new user namespace.
    ...calls.namespaces.flatMap((call): Instruction[] => [
      [JUMP_IF_EQUAL, 0, 4, call],
      [LOAD, 0, 0, FIRST_ARGUMENT_AT],
      [JUMP_IF_ANY_BIT, 0, 1, CLONE_NEWUSER],
      [RETURN, 0, 0, ERROR | EPERM],
      [RETURN, 0, 0, ALLOW],
    ]),
    // No lease of a file.
    [JUMP_IF_EQUAL, 0, LEASES.length + 3, calls.fcntl],
    [LOAD, 0, 0, SECOND_ARGUMENT_AT],
    ...LEASES.map(
      (command, index): Instruction => [
        JUMP_IF_EQUAL,
        LEASES.length - index,
        0,
        command,
      ],
    ),
    [RETURN, 0, 0, ALLOW],
    [RETURN, 0, 0, ERROR | EPERM],
    // No socket of a family other than these.
    [JUMP_IF_EQUAL, 0, FAMILIES.length + 2, calls.socket],
    [LOAD, 0, 0, FIRST_ARGUMENT_AT],
    ...FAMILIES.map(
      (family, index): Instruction => [
        JUMP_IF_EQUAL,
        FAMILIES.length - index,
        0,
        family,
      ],
    ),
    [RETURN, 0, 0, ERROR | EAFNOSUPPORT],
    [RETURN, 0, 0, ALLOW],
  ]);
}

function refusal(call: number, error: number): Instruction[] {
  return [
    [JUMP_IF_EQUAL, 0, 1, call],
    [RETURN, 0, 0, ERROR | error],
  ];
}

function assemble(program: readonly Instruction[]): Uint8Array {
  const view = new DataView(new ArrayBuffer(program.length * 8));
  for (const [
    index,
    [code, whenTrue, whenFalse, operand],
  ] of program.entries()) {
    view.setUint16(index * 8, code, true);
    view.setUint8(index * 8 + 2, whenTrue);
    view.setUint8(index * 8 + 3, whenFalse);
    view.setUint32(index * 8 + 4, operand, true);
  }
  return new Uint8Array(view.buffer);
}
