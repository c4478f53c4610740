import { chmod, chown } from "node:fs/promises";
import { join } from "node:path";
import { putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { beforeAll, describe, expect, it } from "vitest";
import { operatorConfig } from "./agents/agent-options.ts";
import { type ListenFlags, listenOptions } from "./listen-options.ts";

const TOKEN = "0123456789abcdef0123456789ABCDEF";

describe("where a server listens", () => {
  let directory: string;
  beforeAll(async () => {
    directory = temporaryDirectory();
    await tokenFile("token", `${TOKEN}\n`);
  });

  it("is loopback and a fixed port, with nothing allowed, unless something is said", async () => {
    expect(await options({}, "")).toEqual({
      host: "127.0.0.1",
      port: 41242,
      allowedHosts: [],
      allowedOrigins: [],
      pushTargets: [],
      agentRegistry: { targets: [], reservedNames: [], catalogs: [] },
      tlsEndedByProxy: false,
      extensionRequired: false,
      a2a: { grpcInCard: false },
    });
  });

  it("is said by the config file, with the token file relative to it", async () => {
    const config = `
      host = "0.0.0.0"
      port = 0
      public_url = "https://agent.example"
      tls_ended_by_proxy = true
      token_file = "token"
      allowed_hosts = ["a:1"]
      allowed_origins = ["https://a.example"]
      push_targets = ["a:2"]
      require_extension = true
      grpc_in_card = true
    `;
    const said = {
      host: "0.0.0.0",
      port: 0,
      publicUrl: "https://agent.example",
      tlsEndedByProxy: true,
      token: TOKEN,
      extensionRequired: true,
      a2a: { grpcInCard: true },
    };
    const lists = {
      allowedHosts: ["a:1"],
      allowedOrigins: ["https://a.example"],
      pushTargets: ["a:2"],
      agentRegistry: { targets: [], reservedNames: [], catalogs: [] },
    };
    expect(await options({}, config)).toEqual({ ...said, ...lists });
  });

  it("is said by flags before the config file, and their lists are added", async () => {
    const config = `
      host = "0.0.0.0"
      port = 1
      public_url = "https://agent.example"
      allowed_hosts = ["a:1"]
      allowed_origins = ["https://a.example"]
      push_targets = ["a:2"]
    `;
    const flags: ListenFlags = {
      host: "127.0.0.2",
      port: "2",
      publicUrl: "https://other.example",
      tokenFile: join(directory, "token"),
      allowHost: ["b:1"],
      allowOrigin: ["https://b.example"],
      pushTarget: ["b:2"],
      tlsEndedByProxy: true,
      requireExtension: true,
      grpcInCard: true,
    };
    expect(await options(flags, config)).toEqual({
      host: "127.0.0.2",
      port: 2,
      publicUrl: "https://other.example",
      token: TOKEN,
      allowedHosts: ["a:1", "b:1"],
      allowedOrigins: ["https://a.example", "https://b.example"],
      pushTargets: ["a:2", "b:2"],
      agentRegistry: { targets: [], reservedNames: [], catalogs: [] },
      tlsEndedByProxy: true,
      extensionRequired: true,
      a2a: { grpcInCard: true },
    });
  });

  it.each(["70000", "-1", "", "x", "1.5"])(
    "is not the port %j",
    async (port) => {
      await expect(options({ port }, "")).rejects.toThrow(
        `port "${port}" is not a port: choose 0 to 65535`,
      );
    },
  );

  it.each([
    ["open", TOKEN, 0o640, "is open to others: chmod 600 it"],
    [
      "short",
      TOKEN.slice(1),
      0o600,
      "does not hold a token: it needs one line of 32 or more",
    ],
    ["two", `${TOKEN}\n${TOKEN}`, 0o600, "does not hold a token"],
    ["empty", "", 0o600, "does not hold a token"],
  ])(
    "takes no token from a file that is %s",
    async (name, content, mode, problem) => {
      await tokenFile(name, content, mode);
      const refused = options({}, `token_file = "${name}"`);
      await expect(refused).rejects.toThrow(
        `token file "${join(directory, name)}" ${problem}`,
      );
      await expect(refused).rejects.not.toThrow(TOKEN);
    },
  );

  it.skipIf(process.getuid?.() !== 0)(
    "takes no token from a file of another user",
    async () => {
      await tokenFile("theirs", TOKEN);
      await chown(join(directory, "theirs"), 65_534, 65_534);
      await expect(options({}, 'token_file = "theirs"')).rejects.toThrow(
        "belongs to another user, who knows the token",
      );
    },
  );

  it("takes no token from a file that is missing", async () => {
    await expect(options({}, 'token_file = "none"')).rejects.toThrow(
      'cannot be read: write one with mode 0600, as "openssl rand -hex 32" prints (ENOENT',
    );
  });

  async function options(flags: ListenFlags, config: string) {
    putFile(directory, "config.toml", config);
    return listenOptions(flags, await operatorConfig(undefined, directory));
  }

  async function tokenFile(
    name: string,
    content: string,
    mode = 0o600,
  ): Promise<void> {
    putFile(directory, name, content);
    await chmod(join(directory, name), mode);
  }
});
