import {
  changeAnswers,
  changeCard,
  changeRequests,
  type Faults,
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
export const CARD: Faults = {
  "CARD-1": {
    "the card is not at its old path": {
      head: (_head, { path }) =>
        path === "/.well-known/agent.json" ? { status: 404 } : undefined,
    },
    ...Object.fromEntries(
      Object.entries(UNFOLLOWED).map(([name, sent]) => [
        `${name}, which the card does not list, is ignored`,
        {
          spoil: {
            ...changeCard((text) => text.replace(`"${name}"`, '"other"')),
            ...changeRequests((body) => body.replace(sent, "{}")),
          },
          also: ["ERR-1", "SESSION-3", "STREAM-7"],
        },
      ]),
    ),
    "a message that is refused is stored": {
      spoil: {
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
      },
      protocolVersion: "1.0",
    },
  },
  "CARD-2": {
    "the card has another version of the extension": changeCard((text) =>
      text.replaceAll("profile/v0/", "profile/v7/"),
    ),
  },
  "CARD-3": {
    "the activated extension is not named in the answer": {
      head: ({ headers: { "x-a2a-extensions": _echoed, ...headers } }) => ({
        headers,
      }),
    },
    "the extension must be named in every request": optOut(
      (sent) => !namesExtension(sent),
    ),
    "the extensions that a message lists are ignored": changeRequests((body) =>
      body.replace(/"extensions":\["[^"]*spec\.md"\]/, '"extensions":[]'),
    ),
    "an answer to a tool call does not activate the extension": () =>
      optOut(({ body }) => body.includes('"selected_option_id"')),
    "a command does not activate the extension": () =>
      optOut(({ body }) => body.includes('"method":"command/execute"')),
    "a request with the extension activates it for all later ones": () =>
      optInPermanently(),
    "no client can opt out": {
      request: ({ headers: { "x-a2a-extensions": listed, ...headers } }) =>
        listed?.includes("another-extension") ? { headers } : undefined,
    },
    "the extension is named only if the request names it": {
      head: ({ headers: { "x-a2a-extensions": _named, ...headers } }, sent) =>
        isPlain(sent) && !namesExtension(sent) ? { headers } : undefined,
    },
    "a client without the extension is not asked in text": changeAnswers(
      (text) => text.replaceAll("proceed_once (", "go ("),
    ),
  },
  "META-1": {
    "the settings of a task have another key": changeAnswers(
      (text, { body }) =>
        body.includes('"method":"message/send"')
          ? text.replaceAll(
              /("https:[^"]*spec\.md":)\{"workspace_path/g,
              '$1{},"settings":{"workspace_path',
            )
          : text,
    ),
    "the user's metadata is not returned": changeAnswers((text) =>
      text.replaceAll("https://example.com/of-the-client", "gone"),
    ),
  },
  "JSON-1": {
    "names are in camelCase too": changeAnswers((text) =>
      text.replaceAll('"tool_name":', '"toolName":"x","tool_name":'),
    ),
  },
  "JSON-2": {
    "answers in camelCase are not read": changeRequests((body) =>
      body.replace('"toolCallId":', '"toolcallid":'),
    ),
  },
  "JSON-3": {
    "integers are rounded": changeAnswers((text) =>
      text.replaceAll(/"offset":"(\d+)"/g, '"offset":$1'),
    ),
  },
  "JSON-4": {
    "numbers are read as the nearest that a double holds": changeRequests(
      (body) =>
        body.replaceAll(/(?<=[:[,])9007199254740993\b/g, "9007199254740992"),
    ),
    "integers are read from hexadecimal strings": changeRequests((body) =>
      body.replace('"0x5"', '"5"'),
    ),
  },
};
