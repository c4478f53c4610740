import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { isPlaceholder } from "@devtool/sandbox";
import { beforeEach, describe, expect, it } from "vitest";
import { Workspace } from "../tool/workspace.ts";
import {
  type ConfigLimits,
  hasConfig,
  readConfigFiles,
} from "./config-files.ts";

const limits: ConfigLimits = {
  maxFiles: 3,
  maxFileBytes: 10,
  maxTotalBytes: 25,
  maxDepth: 2,
};

describe("readConfigFiles", () => {
  let directory: string;
  beforeEach(() => {
    directory = temporaryDirectory();
  });

  it("reads only memory files and the files below .devtool", async () => {
    await write({
      "AGENTS.md": "a",
      ".devtool/x": "x",
      ".devtool/y/z": "z",
      "agents.md": "no",
      "src/AGENTS.md": "no",
    });
    expect([...read().keys()].sort()).toEqual([
      ".devtool/x",
      ".devtool/y/z",
      "AGENTS.md",
    ]);
  });

  const refused = [
    {
      what: "a file that is too large",
      files: { "AGENTS.md": "12345678901" },
      says: 'configuration file "AGENTS.md" has 11 bytes: limit is 10',
    },
    {
      what: "configuration that is too large in total",
      files: {
        "AGENTS.md": "1234567890",
        "GEMINI.md": "1234567890",
        ".devtool/x": "123456",
      },
      says: "the configuration of the directory has 26 bytes: limit is 25",
    },
    {
      what: "too many files",
      files: {
        "AGENTS.md": "",
        "GEMINI.md": "",
        ".devtool/x": "",
        ".devtool/y": "",
      },
      says: "the configuration has too many files: limit is 3",
    },
    {
      what: "a directory that is nested too deeply",
      files: { ".devtool/a/b/c": "" },
      says: 'configuration directory ".devtool/a/b" is nested too deeply: limit is 2',
    },
  ];
  for (const { what, files, says } of refused) {
    it(`rejects ${what}`, async () => {
      await write(files);
      expect(read).toThrow(says);
    });
  }

  it("finds out by file names alone whether there is configuration", async () => {
    expect(hasConfig(directory, isPlaceholder)).toBe(false);
    await write({ ".devtool/x": "" });
    expect(hasConfig(directory, isPlaceholder)).toBe(true);
  });

  function read(): ReadonlyMap<string, Buffer> {
    using workspace = new Workspace(directory);
    return readConfigFiles(workspace, limits);
  }

  async function write(
    files: Readonly<Record<string, string | undefined>>,
  ): Promise<void> {
    for (const [path, content = ""] of Object.entries(files)) {
      await mkdir(dirname(join(directory, path)), { recursive: true });
      putFile(directory, path, content);
    }
  }
});
