import { existsSync } from "node:fs";
import { join } from "node:path";
import { approvalScript } from "./approval-script.ts";
import { type Escape, OUT } from "./escape.ts";

/** Attempts to reach the network, or sockets of this machine. */
export const NETWORK_ESCAPES: readonly Escape[] = [
  {
    name: "connects to the loopback",
    command: ({ ports }) => `cat </dev/tcp/127.0.0.1/${ports.v4}`,
  },
  {
    name: "connects to the loopback by name",
    command: ({ ports }) => `cat </dev/tcp/localhost/${ports.v4}`,
  },
  {
    name: "connects to the loopback of IPv6",
    command: ({ ports }) => `cat </dev/tcp/::1/${ports.v6}`,
    rare: true,
  },
  {
    name: "connects to another loopback address",
    command: ({ ports }) =>
      `cat </dev/tcp/127.0.0.1/${ports.v4} 2>/dev/null || cat </dev/tcp/0.0.0.0/${ports.v4}`,
  },
  {
    name: "sends a datagram",
    command: ({ udpPort, canary }) =>
      `echo ${canary} >/dev/udp/127.0.0.1/${udpPort}`,
    got: async ({ heard }) => (await heard()).length > 0,
  },
  {
    name: "connects to a socket by path",
    command: ({ socket }) => connectTo(socket),
  },
  {
    name: "connects to an abstract socket",
    command: ({ abstractSocket }) => connectTo(`\\0${abstractSocket}`),
  },
  {
    name: "finds docker",
    command: () => `test -S /var/run/docker.sock && ${OUT}`,
    rare: true,
  },
  {
    name: "finds dbus",
    command: () => `ls /run/dbus/system_bus_socket /run/user/*/bus && ${OUT}`,
    rare: true,
  },
  {
    name: "opens a socket to the host of a virtual machine",
    command: () => `perl -e 'exit !socket(S, 40, 1, 0)' && ${OUT}`,
    rare: true,
  },
  {
    name: "asks the server whether it lives",
    command: ({ server }) =>
      `node -e "fetch('${server.url}/healthz').then(() => console.log('O' + 'UT'))"`,
  },
  {
    name: "sees the machine's network",
    command: () =>
      `node -e "process.exit(+!Object.keys(os.networkInterfaces()).some((name) => name !== 'lo'))" && ${OUT}`,
    rare: true,
  },
];

/**
 * Attempts of an agent's shell to answer the questions that its own calls ask.
 */
export const APPROVAL_ESCAPES: readonly Escape[] = [
  {
    name: "approves its own call with the token it finds",
    before: (ground) => ground.ask("approved-found.txt"),
    command: ({ server }) =>
      approve(`JSON.parse(fs.readFileSync("${server.discovery}", "utf8"))`),
    got: ({ workspace }) => existsSync(join(workspace, "approved-found.txt")),
  },
  {
    name: "approves its own call with a token that it was told",
    before: (ground) => ground.ask("approved-told.txt"),
    command: ({ server: { url, token } }) =>
      approve(JSON.stringify({ url, token })),
    got: ({ workspace }) => existsSync(join(workspace, "approved-told.txt")),
  },
];

function connectTo(path: string): string {
  return `node -e 'net.connect({ path: "${path}" }).on("error", () => {}).pipe(process.stdout)'`;
}

function approve(access: string): string {
  return `node --input-type=module -e '${approvalScript(access)}'`;
}
