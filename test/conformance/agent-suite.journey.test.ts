import { createAgentTransport, fetchAgentCard } from "@devtool/client/a2a";
import {
  type CaseResult,
  REQUIREMENTS,
  runAgentSuite,
} from "@devtool/conformance";
import { agentCases } from "@devtool/conformance/testing";
import { describe, expect, it } from "vitest";
import { variantsOf } from "../depth.ts";
import {
  type Connecting,
  honestProgram,
} from "../interop/bindings/honest-program.ts";

const LIMIT_MS = 300_000;

/** What a client does wrong, by what it reads and sends in place of the wire. */
interface Wrongs {
  readonly card?: (text: string, url: string) => string;
  readonly body?: (text: string) => string;
  readonly answer?: (text: string) => string;
  /** How often a request that fails is made. Default: once. */
  readonly tries?: number;
}

/** A client with a fault, and the cases that must fail in each version. */
interface Fault extends Wrongs {
  readonly what: string;
  readonly breaks: readonly string[];
  readonly says: string;
}

const FAULTS: readonly Fault[] = [
  {
    what: "shows artifacts alone",
    answer: (text) => text.replaceAll("Hello.", ""),
    breaks: ["stream"],
    says: 'the text of messages must be "Hello.": got ""',
  },
  {
    what: "needs a task",
    answer: refuse(
      /(?<!"status":\{[^}]*)"message":\{"messageId"|"result":\{"kind":"message"/,
    ),
    breaks: ["message"],
    says: "it refused",
  },
  {
    what: "takes an id of an event for one that it has",
    answer: (text) => {
      const seen = new Set<string>();
      return blocksOf(text, (block) => {
        const [, id = String(seen.size)] = /^id: (.+)$/m.exec(block) ?? [];
        const isNew = !seen.has(id);
        seen.add(id);
        return isNew;
      });
    },
    breaks: ["sse-ids"],
    says: "it refused",
  },
  {
    what: "takes each line for an event",
    answer: (text) => text.replace(/^(data: .*)\n(?!\n)/gm, "$1\n\n"),
    breaks: ["sse-forms"],
    says: "it refused",
  },
  {
    what: "takes every event for JSON",
    answer: refuse(/^data: ?(?:now|\[DONE\])?$/m),
    breaks: ["sse-not-json"],
    says: "it refused",
  },
  {
    what: "sends a message again after an error",
    tries: 2,
    breaks: [
      "one-post-error",
      "one-post-server-error",
      "one-post-http-error",
      "one-post-no-answer",
      "one-post-error-in-stream",
      "error-text",
      "error-text-in-stream",
    ],
    says: "more than once",
  },
  {
    what: "hides errors",
    answer: (text) => text.replaceAll("boom", "an error"),
    breaks: ["error-text", "error-text-in-stream"],
    says: 'the reason of the refusal must contain "boom"',
  },
  {
    what: "replaces artifacts only",
    answer: (text) => text.replaceAll('"append":true', '"append":false'),
    breaks: ["artifact-appended"],
    says: 'the text of artifacts must be "all of it": got "of it"',
  },
  {
    what: "appends to artifacts only",
    answer: (text) => text.replaceAll('"append":false', '"append":true'),
    breaks: ["artifact-replaced"],
    says: 'the text of artifacts must be "final": got "all of itfinal"',
  },
  {
    what: "leaves at the last status",
    answer: (text) => text.replace(/(?<=COMPLETED"[^\n]*\n\n).*$/is, ""),
    breaks: ["artifact-after-end", "text-after-end"],
    says: "must be",
  },
  {
    what: "goes on after the last status",
    answer: (text) =>
      text.replace(/data: .*COMPLETED".*\n\n(?=data: .*WORKING"\})/i, ""),
    breaks: ["status-after-end"],
    says: "it refused",
  },
  {
    what: "does not fetch the task",
    body: (text) => text.replace(/"(tasks\/get|GetTask)"/, '"none"'),
    breaks: ["broken-stream"],
    says: "it refused",
  },
  {
    what: "refuses what it does not know",
    answer: refuse(/progress|pondering|mood|video|:7|"t9"/i),
    breaks: [
      "unknown-kind",
      "unknown-state",
      "unknown-fields",
      "unknown-part",
      "broken-part",
      "other-task",
    ],
    says: "it refused",
  },
  {
    what: "needs every field of a card",
    card: refuse(/^(?!.*"description":")/),
    breaks: ["card-parts"],
    says: "it refused",
  },
  {
    what: "takes the first interface",
    card: refuse(/GRPC/),
    breaks: ["card-interfaces"],
    says: "it refused",
  },
  {
    what: "knows the names of bindings in upper case",
    card: refuse(/jsonrpc"/),
    breaks: ["card-lower-case"],
    says: "it refused",
  },
  {
    what: "knows one form of an address",
    card: refuse(/a2a\/"|localhost/),
    breaks: ["card-address"],
    says: "it refused",
  },
  {
    what: "takes the address of a card to the letter",
    card: refuse(/"url":"\/|0\.0\.0\.0/),
    breaks: ["card-odd-address"],
    says: "it refused",
  },
  {
    what: "knows one path of the card",
    card: (text, url) => (url.endsWith("/agent.json") ? "{}" : text),
    breaks: ["card-path"],
    says: "it refused",
  },
  {
    what: "sends no settings",
    body: (text) => text.replace('"workspace_path"', '"other"'),
    breaks: ["settings"],
    says: "workspace_path",
  },
];

describe.concurrent("the agent suite", { timeout: LIMIT_MS }, () => {
  it("passes our client", async () => {
    const results = await play({});
    expect(results.filter(({ status }) => status !== "passed")).toEqual([]);
    const { dialects, cases } = agentCases();
    expect(results).toHaveLength(dialects.length * cases.length);
  });

  it.each(variantsOf("faults of clients of agents", FAULTS, 1, 5))(
    "fails one that $what, where it does (sabotage)",
    async ({ breaks, says, ...wrongs }) => {
      const failed = (await play(wrongs)).filter(
        ({ status }) => status === "failed",
      );
      expect(failed.map(({ id }) => id)).toEqual(
        ["0.3", "1.0"].flatMap((version) =>
          breaks.map((id) => `client/a2a-${version}-jsonrpc/${id}`),
        ),
      );
      for (const { reason } of failed) expect(reason).toContain(says);
    },
  );

  it("has a fault for each case", () => {
    const broken = new Set(FAULTS.flatMap(({ breaks }) => breaks));
    const ids = agentCases().cases.map(({ id }) => id.replace("client/", ""));
    expect(ids.filter((id) => !broken.has(id))).toEqual([]);
  });

  it("names existing requirements, all of client mode", () => {
    const named = new Set(
      agentCases().cases.flatMap(({ requirements }) => requirements),
    );
    expect([...named].filter((id) => !(id in REQUIREMENTS))).toEqual([]);
    const owned = Object.entries(REQUIREMENTS).filter(
      ([, { mode }]) => mode === "client",
    );
    expect(owned.map(([id]) => id).filter((id) => !named.has(id))).toEqual([]);
  });
});

function play(wrongs: Wrongs): Promise<CaseResult[]> {
  const fetch = changedFetch(wrongs);
  const signal = AbortSignal.timeout(LIMIT_MS);
  const connecting: Connecting = async (url, token) => {
    const options = { url, fetch, extension: "optional" } as const;
    const card = await fetchAgentCard(options, signal);
    return createAgentTransport(card, { url, token, fetch });
  };
  const streams = honestProgram({ speaking: () => connecting });
  return Array.fromAsync(runAgentSuite(streams, signal));
}

/** Makes requests as a client with a fault does, and reads them so. */
function changedFetch({
  card = (text) => text,
  body = (text) => text,
  answer = (text) => text,
  tries = 1,
}: Wrongs): typeof fetch {
  return async (input, init) => {
    const isCall = init?.method === "POST";
    const sent =
      typeof init?.body === "string" ? { body: body(init.body) } : {};
    const get = (): Promise<Response> => fetch(input, { ...init, ...sent });
    let response = await get().catch((reason: unknown) => {
      if (tries === 1) throw reason;
      return get();
    });
    let text = await response.text();
    if (isCall && tries > 1 && text.includes("boom")) {
      response = await get();
      text = await response.text();
    }
    const read = isCall ? answer : card;
    const isRead = response.ok || isCall;
    return new Response(isRead ? read(text, String(input)) : text, response);
  };
}

/** Keeps the events of a stream that a test is true of. */
function blocksOf(text: string, keeps: (block: string) => boolean): string {
  return text
    .split(/(?<=\n\n)/)
    .filter(keeps)
    .join("");
}

function refuse(what: RegExp): (text: string) => string {
  return (text) => {
    if (what.test(text)) throw new Error("this is not known");
    return text;
  };
}
