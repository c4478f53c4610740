import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv } from "ajv";
import { describe, expect, it } from "vitest";

const PACKAGE = new URL("../../packages/cli/", import.meta.url);

/** The schemas of the MCP registry, as its Go module has them. */
const SCHEMAS = join(
  spawnSync("go", ["env", "GOMODCACHE"], { encoding: "utf8" }).stdout?.trim() ||
    "/nowhere",
  "github.com/modelcontextprotocol/registry@v1.8.9/internal/validators/schemas",
);
const why = existsSync(SCHEMAS)
  ? ""
  : " (skipped: pnpm install:interop go downloads the registry's schemas)";

describe("server.json", () => {
  it("names the package, its version and its name in the registry", () => {
    const { name, version, mcpName } = read("package.json");
    const server = read("server.json");
    expect(server).toMatchObject({ name: mcpName, version });
    expect(server.packages).toMatchObject([{ identifier: name, version }]);
  });

  it.skipIf(why !== "")(
    `fits the schema that the MCP registry itself checks with${why}`,
    () => {
      const server = read("server.json");
      const edition = /schemas\/([\d-]+)\//.exec(server.$schema)?.[1];
      const schema = readFileSync(join(SCHEMAS, `${edition}.json`), "utf8");
      const ajv = new Ajv({ strict: false, validateFormats: false });
      const isValid = ajv.compile(JSON.parse(schema));
      expect(isValid(server), ajv.errorsText(isValid.errors)).toBe(true);
      const description = "x".repeat(101);
      expect(isValid({ ...server, description })).toBe(false);
      expect(isValid({ ...server, name: "devtool" })).toBe(false);
    },
  );
});

function read(name: string) {
  return JSON.parse(readFileSync(new URL(name, PACKAGE), "utf8"));
}
