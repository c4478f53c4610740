import {
  changeAnswers,
  changeCard,
  changeRequests,
  type Fault,
  fault,
  isPlain,
  namesExtension,
  optInPermanently,
  optOut,
} from "./fault.ts";

/** The settings that the kit sends to an agent that does not follow them. */
const UNFOLLOWED = {
  agent_options: '{"agentOptions":{"conformance":"unfollowed"}}',
  allowed_tools: '{"allowedTools":["conformance"]}',
  approval_mode: '{"approvalMode":"APPROVAL_MODE_PLAN"}',
  mcp_servers: /\{"mcpServers":\[\{"name":"conformance".*?\]\}/,
  model: '{"model":"conformance"}',
  turn: '{"turn":{"approvalPolicy":"APPROVAL_POLICY_ON_REQUEST"}}',
};

/** Faults of the card, of activating the extension, and of JSON. */
export const CARD: readonly Fault[] = [
  fault("CARD-1", "the card is not at its old path", {
    head: (_head, { path }) =>
      path === "/.well-known/agent.json" ? { status: 404 } : undefined,
  }),
  ...Object.entries(UNFOLLOWED).map(([name, sent]) =>
    fault(
      "CARD-1",
      `${name}, which the card does not list, is ignored`,
      {
        ...changeCard((text) => text.replace(`"${name}"`, '"other"')),
        ...changeRequests((body) => body.replace(sent, "{}")),
      },
      ["ERR-1", "SESSION-3", "STREAM-7"],
    ),
  ),
  {
    ...fault("CARD-1", "a message that is refused is stored", {
      request: ({ body }) => ({
        body: body.replace(UNFOLLOWED.agent_options, "{}"),
      }),
      body: (text, { body }) =>
        body.includes(UNFOLLOWED.agent_options)
          ? JSON.stringify({
              jsonrpc: "2.0",
              id: JSON.parse(text).id,
              error: { code: -32602, message: "refused" },
            })
          : text,
    }),
    protocolVersion: "1.0",
  },
  fault(
    "CARD-2",
    "the card has another version of the extension",
    changeCard((text) => text.replaceAll("profile/v0/", "profile/v7/")),
  ),
  fault("CARD-3", "the activated extension is not named in the answer", {
    head: ({ headers: { "x-a2a-extensions": _echoed, ...headers } }) => ({
      headers,
    }),
  }),
  fault(
    "CARD-3",
    "the extension must be named in every request",
    optOut((sent) => !namesExtension(sent)),
  ),
  fault(
    "CARD-3",
    "the extensions that a message lists are ignored",
    changeRequests((body) =>
      body.replace(/"extensions":\["[^"]*spec\.md"\]/, '"extensions":[]'),
    ),
  ),
  fault(
    "CARD-3",
    "an answer to a tool call does not activate the extension",
    () => optOut(({ body }) => body.includes('"selected_option_id"')),
  ),
  fault("CARD-3", "a command does not activate the extension", () =>
    optOut(({ body }) => body.includes('"method":"command/execute"')),
  ),
  fault(
    "CARD-3",
    "a request with the extension activates it for all later ones",
    () => optInPermanently(),
  ),
  fault("CARD-3", "no client can opt out", {
    request: ({ headers: { "x-a2a-extensions": listed, ...headers } }) =>
      listed?.includes("another-extension") ? { headers } : undefined,
  }),
  fault("CARD-3", "the extension is named only if the request names it", {
    head: ({ headers: { "x-a2a-extensions": _named, ...headers } }, sent) =>
      isPlain(sent) && !namesExtension(sent) ? { headers } : undefined,
  }),
  fault(
    "CARD-3",
    "a client without the extension is not asked in text",
    changeAnswers((text) => text.replaceAll("proceed_once (", "go (")),
  ),
  fault(
    "META-1",
    "the settings of a task have another key",
    changeAnswers((text, { body }) =>
      body.includes('"method":"message/send"')
        ? text.replaceAll(
            /("https:[^"]*spec\.md":)\{"workspace_path/g,
            '$1{},"settings":{"workspace_path',
          )
        : text,
    ),
  ),
  fault(
    "META-1",
    "the user's metadata is not returned",
    changeAnswers((text) =>
      text.replaceAll("https://example.com/of-the-client", "gone"),
    ),
  ),
  fault(
    "JSON-1",
    "names are in camelCase too",
    changeAnswers((text) =>
      text.replaceAll('"tool_name":', '"toolName":"x","tool_name":'),
    ),
  ),
  fault(
    "JSON-2",
    "answers in camelCase are not read",
    changeRequests((body) => body.replace('"toolCallId":', '"toolcallid":')),
  ),
  fault(
    "JSON-3",
    "integers are rounded",
    changeAnswers((text) =>
      text.replaceAll(/"offset":"(\d+)"/g, '"offset":$1'),
    ),
  ),
  fault(
    "JSON-4",
    "numbers are read as the nearest that a double holds",
    changeRequests((body) =>
      body.replaceAll(/(?<=[:[,])9007199254740993\b/g, "9007199254740992"),
    ),
  ),
  fault(
    "JSON-4",
    "integers are read from hexadecimal strings",
    changeRequests((body) => body.replace('"0x5"', '"5"')),
  ),
];
