import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from "node:http";
import { buffer } from "node:stream/consumers";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import Provider from "oidc-provider";

/** An MCP server behind OAuth, and its authorization server. */
export interface ProtectedServer extends AsyncDisposable {
  /** The URL of the MCP server. */
  readonly url: string;
  /** The URL of the authorization server. */
  readonly issuer: string;
  readonly provider: Provider;
  /** The paths that the authorization server was asked for. */
  readonly asked: readonly string[];
  /** The tokens that the MCP server got, in the order of the requests. */
  readonly heard: readonly string[];
  /** Has the MCP server take tokens of another authorization server alone. */
  trust(other: Pick<ProtectedServer, "issuer" | "provider">): void;
  /** Goes to a page of the authorization server as a user who agrees to all. */
  agree(address: string): Promise<URL>;
}

/**
 * Starts an MCP server with one tool, and an OpenID provider that registers any
 * client. Both listen on loopback.
 */
export async function startProtectedServer(): Promise<ProtectedServer> {
  const asked: string[] = [];
  const heard: string[] = [];
  const issuing = await listen((request, response) => {
    asked.push(request.url ?? "");
    provider.callback()(request, response);
  });
  const provider = createProvider(issuing.origin);
  let trusted = { issuer: issuing.origin, provider };
  const handler = createMcpHandler(createMcpServer);
  const serving = await listen(async (request, response) => {
    const token = tokenOf(request);
    if (token !== undefined) heard.push(token);
    const metadata = `${serving.origin}/.well-known/oauth-protected-resource/mcp`;
    if (request.url === new URL(metadata).pathname) {
      response.setHeader("content-type", "application/json").end(
        JSON.stringify({
          resource: `${serving.origin}/mcp`,
          authorization_servers: [trusted.issuer],
          scopes_supported: ["tools"],
        }),
      );
    } else if (await isAuthorized(token, trusted.provider)) {
      await pass(request, response, handler.fetch);
    } else {
      response
        .writeHead(401, {
          "www-authenticate": `Bearer resource_metadata="${metadata}"`,
        })
        .end();
    }
  });
  return {
    url: `${serving.origin}/mcp`,
    issuer: issuing.origin,
    provider,
    asked,
    heard,
    trust: ({ issuer, provider: other }) => {
      trusted = { issuer, provider: other };
    },
    agree: (address) => agree(address, issuing.origin),
    async [Symbol.asyncDispose]() {
      issuing.server.close();
      serving.server.close();
      issuing.server.closeAllConnections();
      serving.server.closeAllConnections();
    },
  };
}

/** Passes a request to a function of the web's `fetch`. */
export async function pass(
  request: IncomingMessage,
  response: ServerResponse,
  handle: (request: Request) => Promise<Response>,
): Promise<void> {
  const { method = "GET", url, headers } = request;
  const body = method === "POST" ? { body: await buffer(request) } : {};
  const answer = await handle(
    new Request(`http://${headers.host}${url}`, {
      method,
      headers: Object.entries(headers).map(
        ([name, value]): [string, string] => [name, String(value)],
      ),
      ...body,
    }),
  );
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  for await (const chunk of answer.body ?? []) response.write(chunk);
  response.end();
}

function createMcpServer(): McpServer {
  const server = new McpServer({ name: "tickets", version: "1" });
  server.registerTool("count", { description: "Counts." }, () => ({
    content: [{ type: "text", text: "41 tickets" }],
  }));
  return server;
}

function createProvider(issuer: string): Provider {
  return new Provider(issuer, {
    cookies: { keys: ["test"] },
    // It says so; no test has it read a document.
    discovery: { client_id_metadata_document_supported: true },
    features: {
      registration: { enabled: true },
      revocation: { enabled: true },
      devInteractions: { enabled: true },
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => true,
        getResourceServerInfo: (_context, resource) => ({
          scope: "tools",
          audience: resource,
          accessTokenFormat: "opaque",
        }),
      },
    },
    scopes: ["offline_access", "tools"],
    findAccount: (_context, accountId) => ({
      accountId,
      claims: () => ({ sub: accountId }),
    }),
    issueRefreshToken: () => true,
    rotateRefreshToken: true,
  });
}

function tokenOf({ headers }: IncomingMessage): string | undefined {
  return /^Bearer (.+)$/.exec(headers.authorization ?? "")?.[1];
}

async function isAuthorized(
  token: string | undefined,
  provider: Provider,
): Promise<boolean> {
  return (
    token !== undefined &&
    (await provider.AccessToken.find(token))?.isValid === true
  );
}

/** Follows the pages and fills in the forms, until the user is sent back. */
export async function agree(address: string, issuer: string): Promise<URL> {
  const cookies = new Map<string, string>();
  let url = address;
  let form: URLSearchParams | undefined;
  while (url.startsWith(issuer)) {
    const cookie = [...cookies].map((pair) => pair.join("=")).join("; ");
    const response = await fetch(url, {
      redirect: "manual",
      headers: { cookie },
      ...(form && { method: "POST", body: form }),
    });
    for (const line of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      cookies.set(name, value);
    }
    const location = response.headers.get("location");
    const page = await response.text();
    const prompt = /name="prompt" value="(\w+)"/.exec(page)?.[1];
    if (location === null && prompt === undefined) {
      throw new Error(`the provider answered ${response.status}: ${page}`);
    }
    form =
      location === null
        ? new URLSearchParams({
            prompt: prompt ?? "",
            login: "ada",
            password: "x",
          })
        : undefined;
    if (location !== null) url = new URL(location, url).href;
  }
  return new URL(url);
}

async function listen(
  listener: RequestListener,
): Promise<{ readonly server: Server; readonly origin: string }> {
  const server = createServer(listener);
  await new Promise<void>((resolve) =>
    server.listen(0, "127.0.0.1", () => resolve()),
  );
  const address = server.address();
  if (typeof address !== "object" || address === null) {
    throw new Error("the server has no port");
  }
  return { server, origin: `http://127.0.0.1:${address.port}` };
}
