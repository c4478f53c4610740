import {
  answers,
  type Fault,
  fault,
  isPlain,
  namesExtension,
  onCard,
  optsInForGood,
  optsOut,
  requests,
} from "./fault.ts";

/** The faults of what a server says of the extension, and of the JSON of its messages. */
export const CARD: readonly Fault[] = [
  fault("CARD-1", "the card is not at its older path", {
    head: (_head, { path }) => (path === "/.well-known/agent.json" ? { status: 404 } : undefined),
  }),
  fault(
    "CARD-2",
    "the card has another version of the extension",
    onCard((text) => text.replaceAll("profile/v0/", "profile/v7/")),
  ),
  fault("CARD-3", "the activated extension is not told", {
    head: ({ headers: { "x-a2a-extensions": _echoed, ...headers } }) => ({ headers }),
  }),
  fault(
    "CARD-3",
    "the extension must be named with each request",
    optsOut((sent) => !namesExtension(sent)),
  ),
  fault(
    "CARD-3",
    "the extensions that a message lists are passed over",
    requests((body) => body.replace(/"extensions":\["[^"]*spec\.md"\]/, '"extensions":[]')),
  ),
  fault("CARD-3", "an answer to a tool call shows no knowledge of the extension", () =>
    optsOut(({ body }) => body.includes('"selected_option_id"')),
  ),
  fault("CARD-3", "a command shows no knowledge of the extension", () =>
    optsOut(({ body }) => body.includes('"method":"command/execute"')),
  ),
  fault("CARD-3", "what a request is shown is shown to all that follow", () => optsInForGood()),
  fault("CARD-3", "nobody can opt out", {
    request: ({ headers: { "x-a2a-extensions": listed, ...headers } }) =>
      listed?.includes("another-extension") ? { headers } : undefined,
  }),
  fault("CARD-3", "the extension is named only where the request names it", {
    head: ({ headers: { "x-a2a-extensions": _named, ...headers } }, sent) =>
      isPlain(sent) && !namesExtension(sent) ? { headers } : undefined,
  }),
  fault(
    "CARD-3",
    "a client without the extension is not asked in words",
    answers((text) => text.replaceAll("proceed_once (", "go (")),
  ),
  fault(
    "META-1",
    "the settings of a task have another key",
    answers((text, { body }) =>
      body.includes('"method":"message/send"')
        ? text.replaceAll(/("https:[^"]*spec\.md":)\{"workspace_path/g, '$1{},"settings":{"workspace_path')
        : text,
    ),
  ),
  fault(
    "META-1",
    "the user's metadata is not given back",
    answers((text) => text.replaceAll("https://example.com/of-the-client", "gone")),
  ),
  fault(
    "JSON-1",
    "names are in camelCase too",
    answers((text) => text.replaceAll('"tool_name":', '"toolName":"x","tool_name":')),
  ),
  fault(
    "JSON-2",
    "answers in camelCase are not read",
    requests((body) => body.replace('"toolCallId":', '"toolcallid":')),
  ),
  fault(
    "JSON-3",
    "integers are rounded",
    answers((text) => text.replaceAll(/"offset":"(\d+)"/g, '"offset":$1')),
  ),
];
