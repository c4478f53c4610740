/**
 * The system calls that a confined process is refused, beyond what its namespaces keep from it: the kernel's keyrings
 * are shared with the server's session, io_uring goes around other filters, and the rest is a large part of the
 * kernel that no build needs. Sockets are of the families unix, inet, inet6 and netlink: others, vsock first, are
 * bound to no network namespace.
 */
interface Calls {
  readonly architecture: number;
  readonly socket: number;
  readonly refused: readonly number[];
}

const IO_URING = [425, 426, 427];
const CALLS: ReadonlyMap<string, Calls> = new Map([
  // add_key, request_key, keyctl, perf_event_open, bpf, userfaultfd
  ["x64", { architecture: 0xc000003e, socket: 41, refused: [248, 249, 250, 298, 321, 323, ...IO_URING] }],
  ["arm64", { architecture: 0xc00000b7, socket: 198, refused: [217, 218, 219, 241, 280, 282, ...IO_URING] }],
]);

const FAMILIES = [1, 2, 10, 16];

const LOAD = 0x20;
const JUMP_IF_EQUAL = 0x15;
const JUMP_IF_AT_LEAST = 0x35;
const RETURN = 0x06;
const ALLOW = 0x7fff0000;
const KILL_PROCESS = 0x80000000;
const ERROR = 0x00050000;
const EPERM = 1;
const EAFNOSUPPORT = 97;
/** Where `struct seccomp_data` has the call's number, the architecture, and the low half of the first argument. */
const NUMBER_AT = 0;
const ARCHITECTURE_AT = 4;
const FIRST_ARGUMENT_AT = 16;
/** The numbers of the x32 interface begin here; no other architecture has numbers so large. */
const X32 = 0x40000000;

/** An instruction: its code, how many to skip when true and when false, and its operand. */
type Instruction = readonly [code: number, whenTrue: number, whenFalse: number, operand: number];

/** Makes the filter for a machine, as Node names it, in the byte order of both that we know; undefined for others. */
export function seccompFilter(machine: string): Uint8Array | undefined {
  const calls = CALLS.get(machine);
  return calls && assemble([...guard(calls), ...calls.refused.flatMap(refusal), ...socketRule(calls.socket)]);
}

function guard({ architecture }: Calls): Instruction[] {
  return [
    [LOAD, 0, 0, ARCHITECTURE_AT],
    [JUMP_IF_EQUAL, 1, 0, architecture],
    [RETURN, 0, 0, KILL_PROCESS],
    [LOAD, 0, 0, NUMBER_AT],
    [JUMP_IF_AT_LEAST, 0, 1, X32],
    [RETURN, 0, 0, ERROR | EPERM],
  ];
}

function refusal(call: number): Instruction[] {
  return [
    [JUMP_IF_EQUAL, 0, 1, call],
    [RETURN, 0, 0, ERROR | EPERM],
  ];
}

function socketRule(socket: number): Instruction[] {
  const allowed = FAMILIES.map((family, index): Instruction => [JUMP_IF_EQUAL, FAMILIES.length - index, 0, family]);
  return [
    [JUMP_IF_EQUAL, 0, FAMILIES.length + 2, socket],
    [LOAD, 0, 0, FIRST_ARGUMENT_AT],
    ...allowed,
    [RETURN, 0, 0, ERROR | EAFNOSUPPORT],
    [RETURN, 0, 0, ALLOW],
  ];
}

function assemble(program: readonly Instruction[]): Uint8Array {
  const view = new DataView(new ArrayBuffer(program.length * 8));
  for (const [index, [code, whenTrue, whenFalse, operand]] of program.entries()) {
    view.setUint16(index * 8, code, true);
    view.setUint8(index * 8 + 2, whenTrue);
    view.setUint8(index * 8 + 3, whenFalse);
    view.setUint32(index * 8 + 4, operand, true);
  }
  return new Uint8Array(view.buffer);
}
