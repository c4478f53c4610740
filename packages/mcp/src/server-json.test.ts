import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import * as z from "zod";

/** What the MCP registry requires of a `server.json` with packages. */
const ServerJson = z.strictObject({
  $schema: z.url(),
  name: z.string().regex(/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/),
  title: z.string().max(100),
  description: z.string().min(1).max(100),
  version: z.string().regex(/^\d+\.\d+\.\d+/),
  packages: z
    .array(
      z.strictObject({
        registryType: z.literal("npm"),
        identifier: z.string(),
        version: z.string(),
        runtimeHint: z.literal("npx"),
        transport: z.strictObject({ type: z.literal("stdio") }),
        packageArguments: z.array(
          z.strictObject({ type: z.literal("positional"), value: z.string() }),
        ),
        environmentVariables: z.array(
          z.strictObject({
            name: z.string(),
            description: z.string(),
            isRequired: z.boolean(),
            isSecret: z.boolean(),
          }),
        ),
      }),
    )
    .min(1),
});

describe("server.json", () => {
  it("has the form of the MCP registry, and names this package and version", async () => {
    const read = async (name: string): Promise<unknown> =>
      JSON.parse(
        await readFile(new URL(`../../cli/${name}`, import.meta.url), "utf8"),
      );
    const server = ServerJson.parse(await read("server.json"));
    const { name, version, mcpName } = Object(await read("package.json"));
    expect(server.name).toBe(mcpName);
    expect(server.version).toBe(version);
    for (const each of server.packages) {
      expect(each).toMatchObject({ identifier: name, version });
    }
  });
});
