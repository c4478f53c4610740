import type { Command } from "commander";
import { DATA_DIRECTORY, type Done } from "../command-options.ts";
import type { Io } from "../io.ts";

const CONFIG_FILE =
  "configuration file (default: config.toml in the data directory)";

/**
 * Adds the commands below `devtool mcp` that handle the MCP servers of an
 * operator. Their options are those behind their names.
 */
export function addMcpServerCommands(mcp: Command, io: Io, done: Done): void {
  mcp.enablePositionalOptions();
  const load = () => import("../command/mcp-servers.ts");
  mcp
    .command("list")
    .description("List the MCP servers of the config file, without secrets")
    .option("--config <file>", CONFIG_FILE)
    .option("--data <dir>", DATA_DIRECTORY)
    .action(async (options) =>
      done(await (await load()).listMcpServers(options, io)),
    );
  mcp
    .command("add <name> [command...]")
    .usage("[options] <name> (--url <url> | -- <command...>)")
    .description(
      "Show an MCP server, a URL or a command to run, and write it into config.toml if you agree; starts nothing",
    )
    .option("--url <url>", "address of the server")
    .option("--header <header...>", 'header to send: "Name: value"')
    .option(
      "--env <variable...>",
      "environment variable of the command: NAME=value, or NAME for devtool's own",
    )
    .option("--yes", "write it without asking")
    .option("--data <dir>", DATA_DIRECTORY)
    .action(async (name, command, options) =>
      done(await (await load()).addMcpServer(name, command, options, io)),
    );
  mcp
    .command("import [files...]")
    .description(
      "Print the MCP servers of other programs' settings for config.toml (default: yours of Gemini CLI, Claude Code, VS Code and Codex)",
    )
    .action(async (files: readonly string[]) =>
      done(
        await (await import("../command/mcp-import.ts")).mcpImport(files, io),
      ),
    );
  addLogins(mcp, io, done);
}

function addLogins(mcp: Command, io: Io, done: Done): void {
  const load = () => import("../command/mcp-login.ts");
  withLogin(mcp.command("login <server>"))
    .description(
      "Log in at an MCP server of config.toml that requires OAuth, in a browser",
    )
    .option(
      "--client-id <id>",
      "id of devtool at the authorization server, or the https URL of a client metadata document (default: it is registered)",
    )
    .option("--no-open", "print the address only")
    .action(async (server, options) =>
      done(await (await load()).mcpLogin(server, options, io)),
    );
  withLogin(mcp.command("logout <server>"))
    .description("Revoke and forget the login at an MCP server")
    .action(async (server, options) =>
      done(await (await load()).mcpLogout(server, options, io)),
    );
}

function withLogin(command: Command): Command {
  return command
    .option("--config <file>", CONFIG_FILE)
    .option("--data <dir>", DATA_DIRECTORY);
}
