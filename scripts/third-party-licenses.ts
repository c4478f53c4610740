import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Plugin } from "rolldown";

const PACKAGE = /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/;
const FIRST_COMMENT = /^(?:\/\/.*\n)+|^\/\*[\s\S]*?\*\//;

/**
 * Writes the licences of all packages in the bundles that it is a plugin of,
 * and of other files that are copied beside them, to a file there. Throws for a
 * package without a licence text.
 */
export function thirdPartyLicenses(
  fileName: string,
  copied: readonly string[] = [],
): Plugin {
  const modules = new Set(copied);
  return {
    name: "third-party-licenses",
    generateBundle(_options, bundle) {
      for (const file of Object.values(bundle)) {
        if (file.type !== "chunk") continue;
        for (const id of file.moduleIds) modules.add(id);
      }
      const packages = Map.groupBy(modules, (id) => PACKAGE.exec(id)?.[0]);
      const texts = [...packages].flatMap(([directory, ids]) =>
        directory ? licenseOf(directory, ids) : [],
      );
      this.emitFile({
        type: "asset",
        fileName,
        source: texts.toSorted().join(`\n${"-".repeat(80)}\n\n`),
      });
    },
  };
}

function licenseOf(directory: string, modules: readonly string[]): string {
  const { name, version, license } = JSON.parse(
    readFileSync(join(directory, "package.json"), "utf8"),
  );
  const files = textsIn(directory, /^(licen[cs]e|notice)/i);
  // Some packages have their licence in the README alone, from its heading on.
  const sections = textsIn(directory, /^readme/i).flatMap(
    (text) => /^#*\s*licen[cs]e\n[\s\S]*permission[\s\S]*/im.exec(text) ?? [],
  );
  // Others state it only in copyright notices at the beginnings of their files.
  const comments = modules.map(
    (id) => FIRST_COMMENT.exec(textOf(id))?.[0] ?? "",
  );
  const notices = [
    ...new Set(comments.filter((comment) => /copyright/i.test(comment))),
  ];
  const texts = [files, sections, notices].find(({ length }) => length > 0);
  if (!texts) {
    throw new Error(
      `${name} ${version} comes without the text of its licence, ${license}`,
    );
  }
  return `${name} ${version}: ${license}\n\n${texts.join("\n\n")}\n`;
}

function textsIn(directory: string, name: RegExp): string[] {
  return readdirSync(directory).flatMap((file) =>
    name.test(file) ? textOf(join(directory, file)) : [],
  );
}

function textOf(file: string): string {
  return readFileSync(file, "utf8").trim();
}
