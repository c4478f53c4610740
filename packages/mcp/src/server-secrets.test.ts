import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { McpServerSchema } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { ServerSecrets } from "./server-secrets.ts";

describe("the secrets of an MCP server (S12)", () => {
  it("are the values of its environment, replaced by their names", () => {
    const secrets = createSecrets({
      case: "stdio",
      value: { command: "serve", env: { KEY: "k3y-k3y-k3y", DEBUG: "true" } },
    });
    expect(secrets.hide("KEY=k3y-k3y-k3y DEBUG=true k3y-k3y-k3y!")).toBe(
      "KEY=[KEY] DEBUG=true [KEY]!",
    );
  });

  it("are its headers, with or without their scheme", () => {
    const secrets = createSecrets({
      case: "http",
      value: {
        url: "https://a.example",
        headers: { auth: "Bearer t0ken-t0ken" },
      },
    });
    expect(secrets.hide("got Bearer t0ken-t0ken")).toBe("got [auth]");
    expect(secrets.hide("got t0ken-t0ken")).toBe("got [auth]");
  });

  it("are user, password and parameters of its address, in any encoding", () => {
    const secrets = createSecrets({
      case: "sse",
      value: {
        url: "https://somebody:p%40ssw0rd1@a.example/x?key=v%2Flue-value",
      },
    });
    expect(
      secrets.hide(
        "https://somebody:p%40ssw0rd1@a.example/x?key=v%2Flue-value",
      ),
    ).toBe("https://[user]:[user]@a.example/x?key=[key]");
    expect(secrets.hide("p@ssw0rd1 v/lue-value a.example")).toBe(
      "[user] [key] a.example",
    );
    expect(
      createSecrets({
        case: "http",
        value: { url: "https://u:%zz%zz%zz@a.example" },
      }).hide("%zz%zz%zz"),
    ).toBe("[user]");
  });

  it("include a short user, password and parameters within an address", () => {
    const url = "https://me:pw@a.example/x?key=short&token=t0ken-t0ken&n=1";
    const secrets = createSecrets({ case: "http", value: { url } });
    expect(secrets.hide(`cannot reach ${url}`)).toBe(
      "cannot reach https://[user]:[user]@a.example/x?key=[key]&token=[token]&n=[n]",
    );
    expect(secrets.hide("short of 1 key for me")).toBe("short of 1 key for me");
    const alone = createSecrets({
      case: "sse",
      value: { url: "https://me@a.example" },
    });
    expect(alone.hide("https://me@a.example")).toBe("https://[user]@a.example");
  });

  it("are hidden longest first, so that no part of one remains", () => {
    const env = { SHORT: "12345678", LONG: "12345678-and-more" };
    expect(
      createSecrets({ case: "stdio", value: { command: "serve", env } }).hide(
        "12345678-and-more",
      ),
    ).toBe("[LONG]");
  });

  it("are removed from results and errors, which are unchanged if they contain none", () => {
    const secrets = createSecrets({
      case: "stdio",
      value: { command: "serve", env: { KEY: "k3y-k3y-k3y" } },
    });
    const answer = {
      content: [{ type: "text", text: "k3y-k3y-k3y" }],
      more: 1,
    };
    expect(secrets.hideIn(answer)).toEqual({
      content: [{ type: "text", text: "[KEY]" }],
      more: 1,
    });
    const clean = { content: [] };
    expect(secrets.hideIn(clean)).toBe(clean);
    const error = new Error("fetch failed", {
      cause: new Error("with k3y-k3y-k3y"),
    });
    expect(secrets.hideInError(error)).toEqual(
      new Error("fetch failed (with [KEY])"),
    );
    const data = { text: `${"x".repeat(140)}k3y-k3y-k3y${"x".repeat(200)}` };
    const refused = Object.assign(new Error("no"), { code: 5, data });
    expect(String(secrets.hideInError(refused))).not.toContain("k3y");
    const other = new Error("fetch failed");
    expect(secrets.hideInError(other)).toBe(other);
  });
});

function createSecrets(
  transport: NonNullable<MessageInitShape<typeof McpServerSchema>["transport"]>,
): ServerSecrets {
  return new ServerSecrets(create(McpServerSchema, { name: "s", transport }));
}
