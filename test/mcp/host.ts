import type { DevtoolServer } from "@devtool/server";
import {
  Client,
  type ClientCapabilities,
  type ElicitRequestFormParams,
  type ElicitResult,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";

/** The two eras of MCP: with sessions, and since 2026-07-28. */
export const ERAS = ["legacy", "2026-07-28"] as const;
type Era = (typeof ERAS)[number];

/** What a host can do, and how its user answers. */
export interface HostOptions {
  readonly era: Era;
  /** Answers forms. Default: the host shows none. */
  readonly answer?: (form: ElicitRequestFormParams) => ElicitResult;
  readonly extensions?: ClientCapabilities["extensions"];
  readonly path?: string;
  readonly token?: string;
}

/** Connects the SDK's client to the MCP endpoint of a server. */
export async function connectHost(
  { url, token }: Pick<DevtoolServer, "url" | "token">,
  { era, answer, extensions, path = "/mcp", token: own }: HostOptions,
): Promise<Client> {
  const client = new Client(
    { name: "test-host", version: "1" },
    {
      capabilities: {
        ...(answer && { elicitation: { form: {} } }),
        ...(extensions && { extensions }),
      },
      versionNegotiation: {
        mode: era === "legacy" ? "legacy" : { pin: era },
      },
    },
  );
  if (answer) {
    client.setRequestHandler("elicitation/create", ({ params }) => {
      if (!("requestedSchema" in params)) throw new Error("no form");
      return answer(params);
    });
  }
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${url}${path}`), {
      requestInit: { headers: { authorization: `Bearer ${own ?? token}` } },
    }),
  );
  return client;
}
