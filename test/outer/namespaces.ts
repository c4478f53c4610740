import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

/**
 * Two machines as far as the network goes, with one wire between them: what
 * containers are to each other.
 */
export interface TwoMachines extends AsyncDisposable {
  /** The namespace of the server, and its address for the other one. */
  readonly server: { readonly name: string; readonly address: string };
  readonly client: { readonly name: string };
}

/** Makes two network namespaces with a virtual wire between them. */
export async function connectTwoMachines(): Promise<TwoMachines> {
  const [server, client] = [
    `devtool-${process.pid}-s`,
    `devtool-${process.pid}-c`,
  ];
  await using stack = new AsyncDisposableStack();
  for (const name of [server, client]) {
    await ip("netns", "add", name);
    stack.defer(() => ip("netns", "del", name));
    await ip("-n", name, "link", "set", "lo", "up");
  }
  const [here, there] = ["devtool0", "devtool1"];
  await ip(
    "link",
    "add",
    here,
    "netns",
    server,
    "type",
    "veth",
    "peer",
    "name",
    there,
    "netns",
    client,
  );
  await ip("-n", server, "address", "add", "10.77.0.1/30", "dev", here);
  await ip("-n", client, "address", "add", "10.77.0.2/30", "dev", there);
  await ip("-n", server, "link", "set", here, "up");
  await ip("-n", client, "link", "set", there, "up");
  const all = stack.move();
  return {
    server: { name: server, address: "10.77.0.1" },
    client: { name: client },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

/**
 * Whether this machine lets us make network namespaces: most want the rights of
 * root for it.
 */
export async function canConnectMachines(): Promise<boolean> {
  try {
    await using _machines = await connectTwoMachines();
    return true;
  } catch {
    return false;
  }
}

/** A command line that runs a program in a namespace. */
export function inNamespace(
  name: string,
  ...command: readonly string[]
): readonly [string, string[]] {
  return ["ip", ["netns", "exec", name, ...command]];
}

async function ip(...args: readonly string[]): Promise<void> {
  await run("ip", args);
}
