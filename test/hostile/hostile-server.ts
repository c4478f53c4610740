import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** The memory of a process, in bytes. */
export interface Memory {
  /** The memory of its living objects, in bytes. */
  readonly heldBytes: number;
  /**
   * Its resident memory in bytes, some of which the engine returns late or
   * never.
   */
  readonly residentBytes: number;
  /** The most that the system had given it since it was asked last. */
  readonly peakBytes: number;
}

/** A server in a process of its own that is sent nonsense. */
export interface HostileServer extends AsyncDisposable {
  readonly url: string;
  readonly token: string;
  /** The internal faults that its operator would see. */
  readonly internal: readonly string[];
  /** Whether the process still runs. */
  isAlive(): boolean;
  /** Its memory after a garbage collection. */
  memory(): Promise<Memory>;
}

/**
 * Little room for long-lived objects: a server that leaks memory runs out of
 * it. There is room for young ones, so that what 50 requests hold at a time is
 * not taken for what stays.
 */
const LITTLE_ROOM = ["--max-old-space-size=256", "--max-semi-space-size=32"];

/**
 * Runs the packages as they are written, without a build. Stacks name places as
 * they run, as in the command: looking up where each was written took a tenth
 * of the time.
 */
const FROM_SOURCE = [
  "--expose-gc",
  "--conditions=@devtool/source",
  "--experimental-transform-types",
  "--no-enable-source-maps",
  "--disable-warning=ExperimentalWarning",
];

/**
 * Starts one, with little room for objects unless told otherwise, and waits
 * until it listens.
 */
export async function startHostileServer(
  room: readonly string[] = LITTLE_ROOM,
): Promise<HostileServer> {
  const script = fileURLToPath(new URL("./server.ts", import.meta.url));
  const child = fork(script, { execArgv: [...room, ...FROM_SOURCE] });
  const internal: string[] = [];
  const ready = Promise.withResolvers<{
    readonly url: string;
    readonly token: string;
  }>();
  child.on("message", (message) => {
    const { url, token, internal: found } = wordsOf(message);
    if (found !== undefined) internal.push(found);
    if (url !== undefined && token !== undefined) ready.resolve({ url, token });
  });
  child.once("exit", (code) =>
    ready.reject(
      new Error(`the server ended with ${code} before it was ready`),
    ),
  );
  return {
    ...(await ready.promise),
    internal,
    isAlive: () => child.exitCode === null && child.signalCode === null,
    memory: () => memoryOf(child),
    [Symbol.asyncDispose]: () => end(child),
  };
}

function wordsOf(
  message: unknown,
): Readonly<Record<string, string | undefined>> {
  return typeof message === "object" && message !== null
    ? Object.fromEntries(Object.entries(message))
    : {};
}

async function memoryOf(child: ChildProcess): Promise<Memory> {
  const answered = Promise.withResolvers<Memory>();
  const take = (message: unknown): void => {
    const { heldBytes, residentBytes, peakBytes } = wordsOf(message);
    if (heldBytes === undefined) return;
    answered.resolve({
      heldBytes: Number(heldBytes),
      residentBytes: Number(residentBytes),
      peakBytes: Number(peakBytes),
    });
  };
  child.on("message", take).send("measure");
  return answered.promise.finally(() => child.off("message", take));
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  child.disconnect();
  await gone;
}
