import { spawn, spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { findSandbox } from "./find-sandbox.ts";
import { checkMounts, findDifference, intendedMounts } from "./mount-check.ts";
import { parseMountTable } from "./mount-table.ts";

const OUTSIDE = `
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw
24 27 0:6 / /dev rw,relatime - devtmpfs devtmpfs rw
40 27 254:1 /data /srv rw,relatime - ext4 /dev/vdb rw
41 40 254:2 / /srv/work/volume rw,relatime - ext4 /dev/vdc rw
`;
const WORKSPACE = [
  "--bind",
  "/srv/work",
  "/srv/work",
  "--ro-bind",
  "/srv/work/.git",
  "/srv/work/.git",
];
const EMPTY = [
  "--tmpfs",
  "/srv/work/.vscode",
  "--remount-ro",
  "/srv/work/.vscode",
];
const INSIDE = `
85 42 0:39 /newroot / ro,nosuid - tmpfs tmpfs rw
86 85 254:0 /usr /usr ro,nosuid - ext4 /dev/vda rw
87 85 0:40 / /proc rw,nosuid - proc proc rw
90 85 0:41 / /dev rw,nosuid - tmpfs tmpfs rw
91 90 0:6 /null /dev/null rw,nosuid - devtmpfs devtmpfs rw
99 85 254:1 /data/work /srv/work rw,nosuid - ext4 /dev/vdb rw
100 99 254:2 / /srv/work/volume rw,nosuid - ext4 /dev/vdc rw
101 99 254:1 /data/work/.git /srv/work/.git ro,nosuid - ext4 /dev/vdb rw
102 99 0:44 / /srv/work/.vscode ro,nosuid - tmpfs tmpfs rw
`;

describe("the mounts of a sandbox", () => {
  it("are as intended when each shows what lies at its own path outside, with the mounts in it", () => {
    expect(difference(INSIDE)).toBeUndefined();
  });

  const changes: readonly (readonly [
    what: string,
    from: string,
    to: string,
    path: string,
  ])[] = [
    [
      "show another directory",
      "/data/work /srv/work rw",
      "/data/home /srv/work rw",
      "/srv/work",
    ],
    [
      "show another file system",
      "254:1 /data/work /srv/work rw",
      "254:0 /data/work /srv/work rw",
      "/srv/work",
    ],
    [
      "lack a guarded place",
      /101 .*\n/.exec(INSIDE)?.[0] ?? "",
      "",
      "/srv/work/.git",
    ],
    [
      "show a guarded place that was replaced",
      "/.git /srv",
      "/.git//deleted /srv",
      "/srv/work/.git",
    ],
    [
      "let a guarded place be written",
      "/srv/work/.git ro",
      "/srv/work/.git rw",
      "/srv/work/.git",
    ],
    [
      "show something in an empty place",
      "0:44 / /srv/work/.vscode",
      "254:0 /tmp /srv/work/.vscode",
      "/srv/work/.vscode",
    ],
    [
      "have a guarded place under a mount that covers it",
      "101 99",
      "101 98",
      "/srv/work/.git",
    ],
    [
      "show a program of the workspace as the system's",
      "254:0 /usr /usr",
      "254:1 /data/work/usr /usr",
      "/usr",
    ],
    [
      "show more of the machine",
      "254:0 /usr /usr ro",
      "254:0 /etc /etc ro",
      "/etc",
    ],
    [
      "show part of the system again, writable",
      "91 90 0:6 /null /dev/null",
      "91 86 254:0 /usr/lib /usr/lib",
      "/usr/lib",
    ],
  ];
  it.each(changes)("differ when they %s", (_what, from, to, path) => {
    expect(INSIDE).toContain(from);
    expect(difference(INSIDE.replace(from, to))).toBe(path);
  });

  it("differ when a mount in a read-only directory can be written", () => {
    const readOnly = ["--ro-bind", "/srv/work", "/srv/work"];
    const inside = INSIDE.replace("/srv/work rw", "/srv/work ro");
    expect(difference(inside, readOnly)).toBe("/srv/work/volume");
    expect(
      difference(
        inside.replace("volume rw", "volume ro").replace(/101 .*\n/, ""),
        readOnly,
      ),
    ).toBeUndefined();
  });

  it("are found by the path that a process sees, blanks included", () => {
    expect(
      parseMountTable("1 0 254:0 /a\\040b /c\\134d rw - ext4 x rw\n"),
    ).toMatchObject([{ root: "/a b", path: "/c\\d", isReadOnly: false }]);
  });

  function difference(
    inside: string,
    workspace: readonly string[] = [...WORKSPACE, ...EMPTY],
  ): string | undefined {
    const guarded = intendedMounts(workspace);
    const all = new Map([
      ...intendedMounts(["--ro-bind", "/usr", "/usr"]),
      ...guarded,
    ]);
    return findDifference(
      parseMountTable(inside),
      parseMountTable(OUTSIDE),
      all,
      guarded,
    );
  }
});

describe("the check of a process that this user cannot look at", () => {
  it("refuses it at once, and does not take it for ended", async () => {
    await using process = startAsAnotherUser();
    await expect(
      process.asOtherUser((pid) => checkMounts(pid, new Map(), new Map())),
    ).rejects.toThrow(
      'hides processes from their own user: mount /proc without hidepid, or choose sandbox "none"',
    );
  });
});

const sandbox = await findSandbox(
  "auto",
  { path: "" },
  AbortSignal.timeout(60_000),
);

const skipReason = sandbox.confines ? "" : ` (skipped: ${sandbox.notice})`;

describe.skipIf(!sandbox.confines)(
  `a sandbox where /proc shows the processes of another pid namespace${skipReason}`,
  () => {
    it("is refused at once, with the reason", () => {
      const script = `import { findSandbox } from ${JSON.stringify(new URL("find-sandbox.ts", import.meta.url).href)};
      const found = findSandbox("bwrap", { path: "" }, AbortSignal.timeout(60_000));
      await found.catch(({ message }) => process.stdout.write(message));`;
      const node = [
        process.execPath,
        "--experimental-transform-types",
        "--input-type=module",
        "--eval",
        script,
      ];
      // unshare makes a pid namespace and leaves the /proc of the old one in
      // place.
      const { stdout } = spawnSync("unshare", [
        "--user",
        "--map-root-user",
        "--pid",
        "--fork",
        ...node,
      ]);
      expect(stdout.toString()).toBe(
        'sandbox "bwrap" cannot be used: the mounts of the sandbox cannot be checked, since /proc is missing or belongs to ' +
          "another pid namespace: mount /proc in the namespace of this process (unshare --mount-proc), " +
          'or choose sandbox "none"',
      );
    });
  },
);

/**
 * Two users that may not signal each other's processes: with privileges two
 * without, otherwise root and this one.
 */
function startAsAnotherUser(): AsyncDisposable & {
  asOtherUser(check: (pid: number) => Promise<void>): Promise<void>;
} {
  if (process.getuid?.() !== 0) {
    return {
      asOtherUser: (check) => check(1),
      [Symbol.asyncDispose]: async () => undefined,
    };
  }
  const child = spawn("sleep", ["600"], { uid: 65_533, stdio: "ignore" });
  return {
    asOtherUser: async (check) => {
      process.seteuid?.(65_534);
      try {
        await check(child.pid ?? 0);
      } finally {
        process.seteuid?.(0);
      }
    },
    [Symbol.asyncDispose]: async () => void child.kill("SIGKILL"),
  };
}
