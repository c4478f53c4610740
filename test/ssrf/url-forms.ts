import { lookup } from "node:dns/promises";
import { isIP } from "node:net";

/** Global unicast that nobody has: a connection to it goes nowhere. */
export const NOWHERE = "2f00::1";

/**
 * Hosts that all mean this machine, its network or the platform below it,
 * written so that a filter of names misses them.
 */
const LOOPBACK_HOSTS = [
  "127.0.0.1",
  "127.0.0.2",
  "127.1",
  "127.0.1",
  "127.255.255.254",
  "127.0.0.1.",
  "127.1.",
  "2130706433",
  "2130706433.",
  "0x7f000001",
  "0x7F000001",
  "0x7f.1",
  "0x7f.0.0.1",
  "0x7f.0x0.0x0.0x1",
  "017700000001",
  "0177.0.0.1",
  "0177.0.0.01",
  "0177.1",
  "0x7f.000.0.1",
  "127.0.0.0x1",
  "127.0.0.01",
  "00000177.0.0.1",
  "0x0000007f.1",
  "127.0.0x1",
  "127.00.0.1",
  "%31%32%37.0.0.1",
  "127%2e0%2e0%2e1",
  "１２７.0.0.1",
  "127。0。0。1",
  "①②⑦.⓪.⓪.①",
  "127.0.0.1%2e",
  "１２７．１",
  "127｡1",
  ...["0", "0.0.0.0", "0x0", "00", "0.0", "0000.0000", "0.0.0.0.", "%30", "０"],
  "localhost",
  "LOCALHOST",
  "LocalHost",
  "localhost.",
  "%6cocalhost",
  "ⓛocalhost",
  "lo\tcalhost",
  "loca\nlhost",
  "ｌｏｃａｌｈｏｓｔ",
  "[::1]",
  "[0:0:0:0:0:0:0:1]",
  "[0000::0001]",
  "[::0001]",
  "[0:0::1]",
  "[::]",
  "[0::0]",
  "[::0.0.0.1]",
  "[::ffff:127.0.0.1]",
  "[::ffff:7f00:1]",
  "[0:0:0:0:0:ffff:7f00:1]",
  "[::FFFF:127.0.0.1]",
  "[::ffff:0.0.0.0]",
  "[::127.0.0.1]",
  "[::7f00:1]",
  "[::ffff:0:127.0.0.1]",
  "[64:ff9b::127.0.0.1]",
  "[64:ff9b::7f00:1]",
  "[64:ff9b::0a00:1]",
  "[64:ff9b:1::7f00:1]",
  "[2002:7f00:1::]",
  "[2002:7f00:1::1]",
  "[2001:0:7f00:1::]",
  "[::ffff:a9fe:a9fe]",
];
const NETWORK_HOSTS = [
  "10.0.0.1",
  "10.255.255.255",
  "172.16.0.1",
  "172.31.255.255",
  "192.168.0.1",
  "192.168.1.254",
  "100.64.0.1",
  "100.127.0.1",
  "169.254.169.254",
  "0xa9fea9fe",
  "2852039166",
  "169.254.43518",
  "0251.0376.0251.0376",
  "169.254.169.254.",
  "168.63.129.16",
  "192.0.0.192",
  "192.0.2.1",
  "198.18.0.1",
  "198.51.100.7",
  "203.0.113.7",
  "224.0.0.1",
  "239.255.255.250",
  "240.0.0.1",
  "255.255.255.255",
  "0.1.2.3",
  "10.1",
  "012.0.0.1",
  "0xa.0.0.1",
  "192.88.99.1",
  "[fe80::1]",
  "[febf::1]",
  "[fec0::1]",
  "[fc00::1]",
  "[fd00:ec2::254]",
  "[fd12:3456::1]",
  "[ff02::1]",
  "[ff05::2]",
  "[100::1]",
  "[2001:db8::1]",
  "[3fff::1]",
  "[2001::1]",
  "[2001:10::1]",
  "[2001:2::1]",
  "[4000::1]",
  "[1::1]",
  "[5f00::1]",
  "[2002:a00:1::]",
  "[::ffff:10.0.0.1]",
  "[::ffff:192.168.0.1]",
  "[64:ff9b::a9fe:a9fe]",
  "[64:ff9b::c0a8:1]",
  "[::a9fe:a9fe]",
];
/** Names and what their resolver says of them. */
const NAMES: ReadonlyMap<string, readonly string[]> = new Map([
  ["loopback.test", ["127.0.0.1"]],
  ["six.test", ["::1"]],
  ["mapped.test", ["::ffff:127.0.0.1"]],
  ["mixed.test", [NOWHERE, "127.0.0.1"]],
  ["mixed-first.test", ["127.0.0.1", NOWHERE]],
  ["zone.test", ["fe80::1%lo"]],
  ["metadata.test", ["169.254.169.254"]],
  ["127.0.0.1.nip.test", ["127.0.0.1"]],
  ["nonsense.test", ["not an address"]],
  ["nothing.test", []],
  ["missing.test", []],
]);

/**
 * URLs that all lead to a port of this machine, into its network, or nowhere
 * that may be reached.
 */
export function urlForms(port: number): string[] {
  const hosts = [...LOOPBACK_HOSTS, ...NETWORK_HOSTS, ...NAMES.keys()];
  const plain = hosts.map((host) => `http://${host}:${port}/`);
  const loopback = `127.0.0.1:${port}`;
  return [
    ...plain,
    ...LOOPBACK_HOSTS.slice(0, 12).map((host) => `https://${host}:${port}/`),
    ...[
      `http:${loopback}`,
      `http:/${loopback}`,
      `http:\\\\${loopback}`,
      `hTTp://${loopback}`,
      ` http://${loopback} `,
    ],
    ...[
      `http://user@${loopback}/`,
      `http://user:word@${loopback}/`,
      `http://public.test@${loopback}/`,
      `http://@${loopback}/`,
    ],
    ...[
      `http://${loopback}\\@public.test/`,
      `http://${loopback}#@public.test/`,
      `http://${loopback}?@public.test/`,
    ],
    ...[
      `ftp://${loopback}/`,
      `file:///etc/passwd`,
      `gopher://${loopback}/_x`,
      `ws://${loopback}/`,
      `data:text/plain,x`,
    ],
    ...[
      `unix:///run/docker.sock`,
      `//${loopback}/`,
      `/${loopback}`,
      ``,
      `javascript:1`,
      `blob:http://${loopback}/x`,
    ],
    ...[
      `view-source:http://${loopback}`,
      `dict://${loopback}/`,
      `http://`,
      `http://[::1`,
      `http://%00/`,
      `http://a b/`,
    ],
  ];
}

/** Resolves the names above; nothing else is asked of a resolver. */
export async function resolveName(host: string): Promise<readonly string[]> {
  const known = NAMES.get(host);
  if (known) return known;
  if (isIP(host) !== 0) return [host];
  if (!host.startsWith("localhost")) throw new Error("not found");
  return (await lookup("localhost", { all: true })).map(
    ({ address }) => address,
  );
}
