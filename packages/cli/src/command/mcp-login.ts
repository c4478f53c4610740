import { join, resolve } from "node:path";
import type { McpServer } from "@devtool/schema";
import { operatorConfig } from "../agents/agent-options.ts";
import { defaultDataDirectory } from "../connection/discovery.ts";
import { ExitCode } from "../exit-code.ts";
import { type Io, interruptSignal, writeLine } from "../io.ts";
import { loginStore } from "../mcp/login-files.ts";
import { openInBrowser } from "../open-in-browser.ts";
import { countOf } from "../render/count.ts";
import { visibleName } from "../render/style.ts";

/** The options of `devtool mcp login` and `devtool mcp logout`. */
interface McpLoginOptions {
  readonly data?: string;
  readonly config?: string;
  readonly clientId?: string;
  readonly open?: boolean;
}

/**
 * `devtool mcp login`: logs in at an MCP server of `config.toml`, in a browser.
 * Servers of devtool with the same data directory use the login at once.
 */
export async function mcpLogin(
  name: string,
  options: McpLoginOptions,
  io: Io,
): Promise<number> {
  const { server, data } = await findServer(name, options, io);
  const { logIn } = await import("@devtool/mcp/login");
  using interrupt = interruptSignal(io);
  const { toolCount, wasAsked } = await logIn(
    server,
    {
      store: loginStore(data),
      clientId: options.clientId,
      environment: io.env,
      now: () => performance.now(),
      async open(address) {
        writeLine(
          io.stdout,
          `Log in at this page; devtool waits until you are back:\n\n  ${visibleName(address)}\n`,
        );
        if (options.open === false) return;
        const file = join(data, "open-login.html");
        await openInBrowser(address, file, io);
      },
    },
    interrupt.signal,
  );
  const tools = `it has ${countOf(toolCount, "tool")}`;
  writeLine(
    io.stdout,
    wasAsked
      ? `logged in at ${visibleName(name)}: ${tools}`
      : `${visibleName(name)} asks for no login: ${tools}`,
  );
  return ExitCode.OK;
}

/** `devtool mcp logout`: ends a login, there and here. */
export async function mcpLogout(
  name: string,
  options: McpLoginOptions,
  io: Io,
): Promise<number> {
  const { server, data } = await findServer(name, options, io);
  const store = loginStore(data);
  const { logOut, loginUrl } = await import("@devtool/mcp/login");
  const url = loginUrl(server);
  if (!(await store.read(url))) {
    writeLine(io.stderr, `nobody is logged in at ${visibleName(name)}`);
    return ExitCode.FAILED;
  }
  const problem = await logOut(url, store);
  writeLine(io.stdout, `logged out at ${visibleName(name)}`);
  if (problem === undefined) return ExitCode.OK;
  writeLine(
    io.stderr,
    `devtool has forgotten its tokens, but the authorization server has not: ${visibleName(problem)}`,
  );
  return ExitCode.FAILED;
}

async function findServer(
  name: string,
  { data, config: named }: McpLoginOptions,
  io: Io,
): Promise<{ readonly server: McpServer; readonly data: string }> {
  const directory = resolve(data ?? defaultDataDirectory(io.env));
  const { config } = await operatorConfig(named, directory);
  const server = config.mcpServers.find((one) => one.name === name);
  if (server) return { server, data: directory };
  const names = config.mcpServers.map((one) => visibleName(one.name));
  throw new Error(
    `there is no MCP server ${JSON.stringify(name)} in the configuration: ${names.length > 0 ? `choose ${names.join(", ")}` : "it has none"}`,
  );
}
