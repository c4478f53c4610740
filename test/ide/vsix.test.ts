import { readFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { objectOrEmpty } from "@devtool/internal/json";
import { strFromU8, unzipSync } from "fflate";
import { describe, expect, it } from "vitest";
import { ROOT } from "../../scripts/release/manifests.ts";

/** What the file may grow to: who adds to it says why. */
const MAX_BYTES = 345_000;

/**
 * What `ws` tries to load and does without, and texts of code that Ajv would
 * write.
 */
const NOT_LOADED = /^(bufferutil|utf-8-validate|ajv(-formats)?\/dist\/.*)$/;

describe("the extension for VS Code, as it is built", () => {
  const bytes = readFileSync(`${ROOT}editors/vscode/dist/devtool.vsix`);
  const files = Object.fromEntries(
    Object.entries(unzipSync(bytes)).map(([name, content]) => [
      name,
      strFromU8(content),
    ]),
  );

  it("has what it needs and nothing else, from no machine", () => {
    expect(Object.keys(files).toSorted()).toEqual([
      "[Content_Types].xml",
      "extension.vsixmanifest",
      "extension/LICENSE.txt",
      "extension/NOTICE.txt",
      "extension/THIRD-PARTY-LICENSES.txt",
      "extension/extension.js",
      "extension/package.json",
      "extension/readme.md",
    ]);
    expect(bytes.length).toBeLessThan(MAX_BYTES);
    for (const text of Object.values(files)) {
      expect(text).not.toContain(ROOT);
      expect(text).not.toMatch(/sourceMappingURL|BEGIN [A-Z ]*PRIVATE KEY/);
    }
  });

  it("loads nothing but Node and the editor", () => {
    const loaded = [
      ...(files["extension/extension.js"] ?? "").matchAll(
        /\b(?:require|import)\("([^"]+)"\)/g,
      ),
    ].map(([, name = ""]) => name.replace(/^node:/, ""));
    const others = loaded.filter(
      (name) => !builtinModules.includes(name) && !NOT_LOADED.test(name),
    );
    expect([...new Set(others)]).toEqual(["vscode"]);
  });

  it("declares what it is, without what builds it, and takes no settings from a folder", () => {
    const manifest = JSON.parse(files["extension/package.json"] ?? "");
    expect(manifest).toMatchObject({
      name: "devtool",
      main: "./extension.js",
      capabilities: { untrustedWorkspaces: { supported: true } },
    });
    for (const name of ["private", "scripts", "devDependencies"]) {
      expect(manifest).not.toHaveProperty(name);
    }
    const { configuration } = manifest.contributes;
    const settings = Object.values(objectOrEmpty(configuration.properties));
    expect(settings.map((setting) => objectOrEmpty(setting).scope)).toEqual([
      "machine",
      "machine",
    ]);
    const id = `Id="devtool" Version="${manifest.version}" Publisher="devtool"`;
    expect(files["extension.vsixmanifest"]).toContain(id);
  });
});
