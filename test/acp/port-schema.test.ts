import { readdirSync, readFileSync } from "node:fs";
import { PassThrough } from "node:stream";
import { fileURLToPath } from "node:url";
import { createRouterTransport } from "@connectrpc/connect";
import { serveAcp, stdioStream } from "@devtool/acp/port";
import { createDevtoolClient } from "@devtool/client";
import { isObject, listOrEmpty, objectOrEmpty } from "@devtool/internal/json";
import { describe, expect, it } from "vitest";
import { Editor } from "./port/editor.ts";
import { DEFINITIONS } from "./port/frames.ts";

const page = readFileSync(
  new URL("../../docs/acp.md", import.meta.url),
  "utf8",
);
const [before = "", rest = ""] = page.split("## What is not carried");
/**
 * The first column of the table of what is not carried; the second says why.
 */
const notCarried = [
  ...(rest.split("\n## ")[0] ?? "").matchAll(/^\|([^|]*)\|/gm),
]
  .map(([, name]) => name)
  .join("\n");
const carried = `${before}`.slice(before.indexOf("## Questions"));
/** The methods that the SDK handles by itself. */
const BY_THE_SDK: ReadonlySet<string> = new Set(["$/cancel_request"]);
const folder = fileURLToPath(
  new URL("../../packages/acp/src/port/", import.meta.url),
);
const source = readdirSync(folder)
  .filter((name) => /(?<!\.test)\.ts$/.test(name))
  .map((name) => readFileSync(folder + name, "utf8"))
  .join("\n");

/**
 * The kinds of choice in the schema, each with the place where its names are.
 */
const CHOICES = [
  "SessionUpdate",
  "ContentBlock",
  "ToolCallContent",
  "ToolCallStatus",
  "ToolKind",
  "StopReason",
  "PermissionOptionKind",
  "SessionConfigOption",
] as const;

describe("docs/acp.md", () => {
  it.each(methods())(
    "says of the method $method whether it is carried, and the code does so",
    ({ method }) => {
      expectSaid(method);
    },
  );

  it.each(
    CHOICES.flatMap((definition) =>
      namesOf(definition).map((name) => ({ definition, name })),
    ),
  )(
    "says of $definition $name whether it is carried, and the code does so",
    ({ name }) => {
      expectSaid(name);
    },
  );
});

describe("the methods of ACP", () => {
  it.each(
    methods().filter(
      ({ side, method }) => side === "agent" && method !== "session/cancel",
    ),
  )("$method is answered as the page says", async ({ method }) => {
    const [input, output] = [new PassThrough(), new PassThrough()];
    const client = createDevtoolClient(createRouterTransport(() => undefined));
    const agent = {
      name: "none",
      version: "",
      inputModes: [],
      hasExtension: true,
    };
    const connect = async () => ({ client, agent });
    void serveAcp(
      { stream: stdioStream(input, output), connect },
      new AbortController().signal,
    );
    await using editor = new Editor(input, output);
    await editor.agent.request("initialize", { protocolVersion: 1 });
    const reason: unknown = await editor.agent
      .request(method, {})
      .catch((error: unknown) => error);
    // A method that is known complains about its parameters.
    const isUnknown =
      objectOrEmpty(JSON.parse(JSON.stringify(reason))).code === -32_601;
    expect(isUnknown).toBe(notCarried.includes(`\`${method}\``));
  });
});

/** The methods of the schema, each with the side that answers it. */
function methods(): { readonly method: string; readonly side: string }[] {
  const found = Object.values(DEFINITIONS).flatMap(
    (definition): [string, string][] => {
      if (!isObject(definition)) return [];
      const { "x-method": method, "x-side": side } = definition;
      return typeof method === "string" && typeof side === "string"
        ? [[method, side]]
        : [];
    },
  );
  return [...new Map(found)].map(([method, side]) => ({ method, side }));
}

/** The names of a choice: the constants that tell its cases apart. */
function namesOf(definition: string): string[] {
  const names = listOrEmpty(
    objectOrEmpty(DEFINITIONS[definition]).oneOf,
  ).flatMap((item) => {
    const { const: own, properties } = objectOrEmpty(item);
    const inside = Object.values(objectOrEmpty(properties)).map(
      (property) => objectOrEmpty(property).const,
    );
    return [own, ...inside].filter((value) => typeof value === "string");
  });
  expect(names.length).toBeGreaterThan(1);
  return names;
}

/**
 * Expects a name on one side of the page, and in the code if it is on that of
 * what is carried.
 */
function expectSaid(name: string): void {
  // A row of several terminals methods has them as one.
  const isSaidNot =
    notCarried.includes(`\`${name}\``) ||
    (name.startsWith("terminal/") && notCarried.includes("`terminal/*`"));
  expect({ name, carried: carried.includes(`\`${name}\``) }).toEqual({
    name,
    carried: !isSaidNot,
  });
  if (BY_THE_SDK.has(name)) return;
  expect({ name, inCode: source.includes(`"${name}"`) }).toEqual({
    name,
    inCode: !isSaidNot,
  });
}
