import { create, type JsonObject } from "@bufbuild/protobuf";
import { McpServerSchema } from "@devtool/schema";
import { play, serversOf, textOf, toolNamed } from "./servers.ts";
import { type Context, testAuthorization } from "./test-authorization.ts";

/**
 * Plays one client scenario of the MCP conformance suite with our client: the
 * suite gives the address and the name.
 */
const url = process.argv.at(-1) ?? "";
const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? "";
const context: Context = JSON.parse(
  process.env.MCP_CONFORMANCE_CONTEXT ?? "{}",
);
const signal = AbortSignal.timeout(110_000);

/** A call that a scenario wants. */
interface Call {
  readonly name: string;
  readonly args: JsonObject;
}

const CALLS: Readonly<Record<string, readonly Call[]>> = {
  tools_call: [{ name: "add_numbers", args: { a: 5, b: 3 } }],
  "elicitation-sep1034-client-defaults": [
    { name: "test_client_elicitation_defaults", args: {} },
  ],
  "sse-retry": [{ name: "test_reconnection", args: {} }],
  "http-invalid-tool-headers": [
    { name: "valid_tool", args: { region: "us-west1" } },
  ],
  "sep-2322-client-request-state": [
    ...["test_mrtr_echo_state", "test_mrtr_no_state"],
    ...["test_mrtr_unrelated", "test_mrtr_no_result_type"],
  ].map((name) => ({ name, args: {} })),
};

const server = create(McpServerSchema, {
  name: "suite",
  transport: { case: "http", value: { url } },
});
const isAuthorized = scenario.startsWith("auth/");
const authorization = isAuthorized
  ? testAuthorization(scenario, context)
  : undefined;
const { servers, notices } = serversOf([server], {
  authorizationOf: () => authorization,
});
await using _servers = servers;
const tools = await servers.tools(signal);
// What is only left out of a tool is a notice too.
if (tools.length === 0 && notices.length > 0) {
  throw new Error(notices.join("\n"));
}
const declared = (name: string): JsonObject =>
  toolNamed(tools, name).declaration.parameters;
const calls = [
  ...(CALLS[scenario] ?? []),
  ...(context.toolCalls ?? []).map(({ name, arguments: args }) => ({
    ...{ name, args },
  })),
  ...(isAuthorized ? [{ name: "test-tool", args: {} }] : []),
  ...(scenario === "json-schema-2020-12-preservation"
    ? [
        {
          name: "json_schema_echo",
          args: { schema: declared("json_schema_2020_12_tool") },
        },
      ]
    : []),
];
for (const { name, args } of calls) {
  const played = await play(toolNamed(tools, name), args, signal, () => ({
    optionId: "proceed_once",
    text: "",
  }));
  console.log(textOf(played));
}
