import { chmod, mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { SavedApprovals } from "@devtool/policy";
import { PolicyRuleSchema, RuleDecision } from "@devtool/schema";
import { ServerConfigSchema } from "@devtool/schema/operator";
import type { ServerStore } from "@devtool/server/store";
import { beforeEach, describe, expect, it } from "vitest";
import { storeOptions } from "./store-options.ts";
import { runCommand } from "./testing/run-command.ts";

const MEMORY = `
import { MemoryTaskStore } from ${JSON.stringify(import.meta.resolve("@devtool/server/store"))};
`;
const WHOLE = `${MEMORY}export const openStore = () => new MemoryTaskStore();`;

describe("the store of a module", () => {
  let base: string;
  beforeEach(() => {
    base = temporaryDirectory();
  });

  async function open(url: string, flag?: string): Promise<ServerStore> {
    const config = create(ServerConfigSchema, { store: { url } });
    const { openStore } = storeOptions(flag, { config, directory: base });
    if (!openStore) throw new Error("there is no store");
    return openStore({ dataDirectory: base });
  }

  it("is opened by a flag, or by the config file relative to its directory", async () => {
    putFile(base, "mine.mjs", WHOLE);
    await using store = await open("module:./mine.mjs");
    expect((await store.list({ limit: 1 })).tasks).toEqual([]);
    const flag = `module:${join(base, "mine.mjs")}`;
    await using other = await open("postgres://u@h/d", flag);
    expect((await other.list({ limit: 1 })).tasks).toEqual([]);
  });

  it("is given the data directory", async () => {
    putFile(
      base,
      "mine.mjs",
      `${MEMORY}export const openStore = (place) => Object.assign(new MemoryTaskStore(), place);`,
    );
    await using store = await open("module:./mine.mjs");
    expect(store).toMatchObject({ dataDirectory: base });
  });

  it.each([
    [
      "no file",
      undefined,
      /cannot be read: ENOENT.*: name a module that exports "openStore" \(docs\/own-agent\.md/,
    ],
    [
      "no module",
      "not a module",
      /cannot be loaded: .*: "node \/.*mine\.mjs" shows where$/,
    ],
    [
      "one that throws",
      'throw new Error("no luck");',
      /cannot be loaded: no luck/,
    ],
    [
      "no export",
      "export const store = 1;",
      /exports no function "openStore", only store: write `export function openStore\(\{ dataDirectory \}\) \{ … \}`/,
    ],
    [
      "no function",
      "export const openStore = 1;",
      /exports no function "openStore", only nothing: write/,
    ],
    [
      "a store that does not open",
      'export const openStore = async () => { throw new Error("no disk"); };',
      /cannot open its store: no disk/,
    ],
    [
      "no store",
      "export const openStore = () => undefined;",
      /opens a store without append, delete, readEvents, putHead, readHead, list, readSizes, findLatest, findMessage, assertWritable, readAudit, pushConfigs\.put, .*, \[Symbol\.asyncDispose\]: add what is missing/,
    ],
    [
      "a store without a method",
      `${MEMORY}export const openStore = () => Object.assign(new MemoryTaskStore(), { list: undefined });`,
      /opens a store without list: add/,
    ],
    [
      "half a shared store",
      `${MEMORY}export const openStore = () => Object.assign(new MemoryTaskStore(), { shared: { keys: { read() {}, replace() {} } } });`,
      /opens a store without shared\.leases\.create, .*shared\.sessions\.begin, shared\.forgetMessage: add/,
    ],
  ])("is refused: %s", async (_what, text, problem) => {
    if (text !== undefined) putFile(base, "mine.mjs", text);
    const opened = open("module:mine.mjs");
    await expect(opened).rejects.toThrow(problem);
    await expect(opened).rejects.toThrow(/^store\.url "module:mine\.mjs" /);
  });

  it("is said to be a path where the prefix is missing", () => {
    expect(() =>
      storeOptions("../mine.mjs", {
        config: create(ServerConfigSchema, {}),
        directory: base,
      }),
    ).toThrow('--store "../mine.mjs" is a path: write "module:../mine.mjs"');
  });

  it("is refused where everybody may change the file, and beside fields of databases", async () => {
    putFile(base, "mine.mjs", WHOLE);
    await chmod(join(base, "mine.mjs"), 0o666);
    await expect(open("module:mine.mjs")).rejects.toThrow(
      "may be changed by everybody: chmod o-w it",
    );
    const config = create(ServerConfigSchema, {
      store: { url: "module:mine.mjs", schema: "s" },
    });
    expect(() => storeOptions(undefined, { config, directory: base })).toThrow(
      "store.schema, store.lease and store.dbos are of databases: remove them beside a module",
    );
  });

  it("leaves approvals in the data directory, where servers do not share it", async () => {
    const store = join(base, "mine.mjs");
    await writeFile(store, WHOLE);
    const data = join(base, "data");
    await mkdir(data);
    const rule = create(PolicyRuleSchema, {
      decision: RuleDecision.ALLOW,
      tool: ["run_shell_command"],
      commandPrefix: ["make"],
      exactCommand: true,
      workspace: base,
    });
    await (await SavedApprovals.open(data, expect.unreachable)).save([rule]);
    const { code, out } = await runCommand([
      ...["approvals", "list", "--store", `module:${store}`, "--data", data],
    ]);
    expect(code).toBe(0);
    expect(out).toContain("make");
  });

  it("stops a server at its start, which says what to do", async () => {
    const store = join(base, "mine.mjs");
    const work = await mkdtemp(join(base, "work-"));
    await writeFile(store, "export const openStore = 1;");
    const { code, err } = await runCommand([
      "serve",
      ...["--store", `module:${store}`, "--data", join(base, "data")],
      ...["--workspace", work, "--port", "0"],
    ]);
    expect(code).not.toBe(0);
    expect(err).toContain(`--store "module:${store}" exports no function`);
  });
});
