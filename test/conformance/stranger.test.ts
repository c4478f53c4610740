import { fileURLToPath } from "node:url";
import {
  type CaseResult,
  createReport,
  findSubject,
  runServerSuite,
} from "@devtool/conformance";
import { Outcome, type Report } from "@devtool/conformance/protos";
import { describe, expect, it } from "vitest";
import { foreignServers } from "../interop/foreign-servers.ts";
import { startSpoilingProxy } from "./spoiling-proxy.ts";

/** What a stranger's agent may be sent as the text of a message. */
const GREETINGS = ["Hello", "hello"];

describe("the kit, played against an agent that does not know the extension", {
  timeout: 120_000,
}, () => {
  for (const protocolVersion of ["0.3", "1.0"] as const) {
    it(`H1: sends it no script over A2A ${protocolVersion}, and finds no fault`, async () => {
      const { report, texts } = await play("hello.json", protocolVersion);
      expect(texts.filter((text) => !GREETINGS.includes(text))).toEqual([]);
      expect(texts).not.toEqual([]);
      expect(failing(report)).toEqual([]);
      const skipped = report.cases.find(({ id }) => id === "a2a/cancel");
      expect(skipped?.reason).toBe(
        'give --prompts with "works-long": the agent must work for at least a minute, or until the task is canceled',
      );
    });

    it(`H2: tests the message over A2A ${protocolVersion} where it answers with one`, async () => {
      const { report } = await play("hello-message.json", protocolVersion);
      expect(failing(report)).toEqual([]);
      const outcomes = report.cases.map(({ id, outcome }) => [id, outcome]);
      expect(outcomes).toContainEqual(["a2a/send", Outcome.PASSED]);
      expect(outcomes).toContainEqual(["a2a/stream", Outcome.PASSED]);
      const get = report.cases.find(({ id }) => id === "a2a/get");
      expect(get?.reason).toBe(
        "this agent answers with messages, and the case needs a task",
      );
    });

    it(`H2: finds a message without a role over A2A ${protocolVersion}`, async () => {
      const { report } = await play(
        "hello-message.json",
        protocolVersion,
        (text) => text.replace(/"role":"(agent|ROLE_AGENT)"/, '"x":""'),
      );
      expect(failing(report)).toContain("a2a/send");
    });

    it(`M12: counts over A2A ${protocolVersion} only what it asks`, async () => {
      const { report } = await play("hello.json", protocolVersion);
      expect(report.cases.every(({ id }) => id.startsWith("a2a/"))).toBe(true);
      expect(report.requirements.every(({ cases }) => cases.length > 0)).toBe(
        true,
      );
    });
  }
});

/** The cases that fail, but those that the SDK is known to fail. */
function failing({ cases }: Report): string[] {
  return cases
    .filter(({ outcome }) => outcome === Outcome.FAILED)
    .map(({ id }) => id)
    .filter((id) => !KNOWN.includes(id));
}

/** `known-failing/a2a-js-sdk-1-3-0.json` has the reasons. */
const KNOWN = ["a2a/version", "a2a/invalid-json", "a2a/json-rpc"];

/** Plays all cases against an agent on the JavaScript SDK, over JSON-RPC. */
async function play(
  script: string,
  protocolVersion: "0.3" | "1.0",
  spoil = (text: string) => text,
): Promise<{ readonly report: Report; readonly texts: readonly string[] }> {
  const kind = foreignServers().find(({ peer }) => peer.includes("sdk 1.3.0"));
  if (!kind) throw new Error("there is no agent on the JavaScript SDK");
  await using server = await kind.start(
    fileURLToPath(new URL(`../interop/${script}`, import.meta.url)),
    "streaming",
  );
  const texts: string[] = [];
  await using proxy = await startSpoilingProxy(server.url, {
    request({ body }) {
      const found = body.matchAll(/"text":"((?:[^"\\]|\\.)*)"/g);
      texts.push(...Array.from(found, ([, text = ""]) => text));
      return undefined;
    },
    body: (text, { method }) => (method === "POST" ? spoil(text) : text),
  });
  const signal = AbortSignal.timeout(100_000);
  const subject = await findSubject(
    { url: proxy.url, protocolVersion, binding: "JSONRPC" },
    signal,
  );
  const results: CaseResult[] = [];
  for await (const result of runServerSuite(subject, signal)) {
    results.push(result);
  }
  const about = { ...subject, name: "stranger" };
  const report = createReport({
    suite: "server",
    subject: about,
    results,
    time: new Date(0),
  });
  return { report, texts };
}
