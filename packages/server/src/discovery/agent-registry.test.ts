import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  create,
  type MessageInitShape,
  toJsonString,
} from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { AgentListService, FoundAgentSchema } from "@devtool/schema";
import { beforeEach, describe, expect, it } from "vitest";
import { Code } from "../errors.ts";
import { AgentRegistry } from "./agent-registry.ts";

const REQUEST = AgentListService.method.registerAgent.input;
const URL = "https://agents.example/helper";

describe("the registered agents", () => {
  let path: string;
  let nowMs: number;
  let registry: AgentRegistry;
  let notices: string[];
  beforeEach(() => {
    notices = [];
    path = join(temporaryDirectory(), "registered-agents.json");
    nowMs = 1_000_000;
    registry = open();
  });

  const open = (
    catalogs: readonly string[] = ["corp"],
    reserved: readonly string[] = ["Coder", "tail"],
  ): AgentRegistry =>
    new AgentRegistry({
      path,
      now: () => nowMs,
      catalogs: catalogs.map((name) => ({ name })),
      reserved,
      onNotice: (text) => void notices.push(text),
    });
  const register = (
    fields: MessageInitShape<typeof REQUEST>,
    principal = "ada",
  ) =>
    registry.register(
      create(REQUEST, { name: "helper", url: URL, ...fields }),
      principal,
    );
  const names = async () =>
    (await registry.list()).map(({ agent }) => agent?.name);

  it("are there until their leases are over, over a restart, too", async () => {
    const { expireTime } = await register({ lease: durationFromMs(60_000) });
    expect(expireTime?.seconds).toBe(1060n);
    registry = open();
    nowMs += 59_999;
    expect(await names()).toEqual(["helper"]);
    nowMs += 1;
    expect(await names()).toEqual([]);
    registry = open();
    expect(await names()).toEqual([]);
  });

  it("are renewed by whom has registered them, at another URL, too", async () => {
    await register({ lease: durationFromMs(60_000) });
    nowMs += 50_000;
    const url = "https://agents.example/moved";
    await register({ lease: durationFromMs(60_000), url });
    nowMs += 50_000;
    registry = open();
    expect((await registry.list()).map(({ agent }) => agent?.url)).toEqual([
      url,
    ]);
  });

  it("keep their names from others while the lease lasts, and end it themselves", async () => {
    await register({});
    await expect(register({}, "eve")).rejects.toMatchObject({
      code: Code.AlreadyExists,
    });
    await expect(registry.unregister("helper", "eve")).rejects.toMatchObject({
      code: Code.NotFound,
    });
    await registry.unregister("helper", "ada");
    expect((await register({}, "eve")).registeredBy).toBe("eve");
    nowMs += 5 * 60_000;
    expect((await register({})).registeredBy).toBe("ada");
  });

  it.each([
    "coder",
    "Co-der",
    "C0DER",
    "co_der",
    "ta1l",
    "taIl",
    "HELPER",
    "help-er",
  ])("have no name that looks like another one: %s", async (name) => {
    await register({});
    await expect(register({ name })).rejects.toThrow("or looks like it");
  });

  it.each(["corp-x", "CORP_x", "c0rp-"])(
    "have no name of a catalog's agents: %s",
    async (name) => {
      await expect(register({ name })).rejects.toThrow(
        `name "${name}" is for agents of catalog "corp": choose another name`,
      );
      await register({ name: "corporate" });
    },
  );

  it("lose a name that the operator has given away since, which a notice says, and keep it in the file", async () => {
    for (const name of ["helper", "far-one", "other"]) await register({ name });
    registry = open(["far"], ["Helper"]);
    expect(await names()).toEqual(["other"]);
    expect(notices.map((text) => text.replace(/in ".*?" /, ""))).toEqual([
      'registration 1, of agent "helper", is left out: its name is that of agent "Helper", or looks like it: repair or remove it',
      'registration 2, of agent "far-one", is left out: its name is for agents of catalog "far": repair or remove it',
    ]);
    await register({ name: "more" });
    registry = open();
    expect(await names()).toEqual(["other", "more", "helper", "far-one"]);
    // An old one says nothing, and goes.
    nowMs += 5 * 60_000;
    notices = [];
    registry = open(["far"], ["Helper"]);
    await register({ name: "last" });
    expect([notices, await readFile(path, "utf8")]).toEqual([
      [],
      expect.not.stringContaining("far-one"),
    ]);
  });

  it("are at most 16 of one caller and 256 in all, and a renewal is always possible", async () => {
    for (let index = 0; index < 16; index++) {
      await register({ name: `a${"x".repeat(index)}` });
    }
    await expect(register({ name: "more" })).rejects.toMatchObject({
      code: Code.ResourceExhausted,
    });
    await register({ name: "a" });
    for (let index = 16; index < 256; index++) {
      const name = `b${"x".repeat(index % 16)}${"y".repeat(index / 16)}`;
      await register({ name }, `p${Math.floor(index / 16)}`);
    }
    await expect(register({ name: "last" }, "other")).rejects.toThrow(
      "limits are 16 and 256",
    );
  });

  it.each([
    [{ name: "a b" }, "name"],
    [{ name: "x".repeat(51) }, "name"],
    [{ name: "аda" }, "name"],
    [{ url: "file:///etc/passwd" }, "url"],
    [{ url: "https://u:p@agents.example" }, "url"],
    [{ url: "https://agents.example/#x" }, "url"],
    [{ description: "x".repeat(1001) }, "description"],
    [{ skills: Array(21).fill("x") }, "skills"],
    [{ skills: ["a b"] }, "skills"],
    [{ token: "a\nb" }, "token"],
    [{ token: "x".repeat(4097) }, "token"],
    [{ lease: durationFromMs(9_999) }, "lease"],
    [{ lease: durationFromMs(86_400_001) }, "lease"],
  ])("refuses what it cannot take: %#", async (fields, field) => {
    await expect(register(fields)).rejects.toMatchObject({
      code: Code.InvalidArgument,
      message: expect.stringContaining(field),
    });
    expect(await names()).toEqual([]);
  });

  it("refuses a URL with a query, and does not show it", async () => {
    await expect(register({ url: `${URL}?key=s3cret` })).rejects.toThrow(
      `url "${URL}" has a query or a fragment`,
    );
  });

  it("are in a file for its owner alone, with the token that nobody is shown", async () => {
    const shown = await register({ token: "s3cret" });
    expect(toJsonString(FoundAgentSchema, shown)).not.toContain("s3cret");
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await readFile(path, "utf8")).toContain("s3cret");
    const [first] = await open().list();
    expect(first?.token).toBe("s3cret");
  });

  it("change one after the other, and none is lost", async () => {
    await Promise.all(
      ["one", "two", "three"].map((name) => register({ name })),
    );
    registry = open();
    expect(await names()).toEqual(["one", "two", "three"]);
  });

  it.each(["{", "[]", '{"registrations": {}}'])(
    "are none in a file that cannot be read, which is named and not replaced: %s",
    async (text) => {
      await writeFile(path, text);
      await expect(register({})).rejects.toThrow(path);
      expect([await names(), await names()]).toEqual([[], []]);
      expect(notices).toEqual([
        `registered agents ${JSON.stringify(path)} cannot be read: repair or remove it`,
      ]);
      expect(await readFile(path, "utf8")).toBe(text);
      await writeFile(path, "{}");
      await register({});
      expect(await names()).toEqual(["helper"]);
    },
  );

  it("cost only themselves where they cannot be used, which a notice says, and stay in the file", async () => {
    await register({});
    const { registrations } = JSON.parse(await readFile(path, "utf8"));
    const [{ agent: good }] = registrations;
    const bad = [
      { agent: { ...good, name: "odd", url: 5 } },
      { agent: { ...good, name: "far", url: "nowhere" } },
      { agent: { ...good, name: "HELP-ER" } },
      { agent: { ...good, name: "endless", expireTime: undefined } },
      { agent: { ...good, name: "orphan", registeredBy: "" } },
      { agent: { ...good, name: "open" }, token: 271828 },
      null,
    ].map((one) => JSON.parse(JSON.stringify(one)));
    const last = { agent: { ...good, name: "last" } };
    const file = { registrations: [...registrations, ...bad, last], more: [1] };
    await writeFile(path, JSON.stringify(file));
    registry = open();
    expect(await names()).toEqual(["helper", "last"]);
    expect(notices.map((text) => /"(.*?)"/.exec(text)?.[1])).toEqual([
      ...["odd", "far", "HELP-ER", "endless", "orphan", "open", ""],
    ]);
    expect(notices[0]).toMatch(
      /^registration 2, of agent "odd", in ".*registered-agents\.json" is left out: .*url.*: repair or remove it$/,
    );
    expect(notices.join()).not.toContain("271828");
    await register({ name: "more" });
    await registry.unregister("helper", "ada");
    const after = JSON.parse(await readFile(path, "utf8"));
    expect(after.registrations.slice(-bad.length)).toEqual(bad);
    expect(after.more).toEqual([1]);
    registry = open();
    // The name of the agent that left is that of the other one now.
    expect(await names()).toEqual(["last", "more", "HELP-ER"]);
  });
});
