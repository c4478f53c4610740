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
const signal = AbortSignal.timeout(25_000);

const CALLS: Readonly<
  Record<string, { readonly name: string; readonly args: JsonObject }>
> = {
  tools_call: { name: "add_numbers", args: { a: 5, b: 3 } },
  "elicitation-sep1034-client-defaults": {
    name: "test_client_elicitation_defaults",
    args: {},
  },
  "sse-retry": { name: "test_reconnection", args: {} },
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
if (notices.length > 0) throw new Error(notices.join("\n"));
const call =
  CALLS[scenario] ??
  (isAuthorized ? { name: "test-tool", args: {} } : undefined);
if (call) {
  const played = await play(
    toolNamed(tools, call.name),
    call.args,
    signal,
    () => ({
      optionId: "proceed_once",
      text: "",
    }),
  );
  console.log(textOf(played));
}
