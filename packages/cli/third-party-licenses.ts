import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Plugin } from "rolldown";

const PACKAGE = /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/;
const FIRST_COMMENT = /^(?:\/\/.*\n)+|^\/\*[\s\S]*?\*\//;

/** Writes the licence of every package that went into a bundle beside it. Throws when the text of one is nowhere. */
export function thirdPartyLicenses(fileName: string): Plugin {
  return {
    name: "third-party-licenses",
    generateBundle(_options, bundle) {
      const modules = Object.values(bundle).flatMap((file) => (file.type === "chunk" ? file.moduleIds : []));
      const packages = Map.groupBy(modules, (id) => PACKAGE.exec(id)?.[0]);
      const texts = [...packages].flatMap(([directory, ids]) => (directory ? licenseOf(directory, ids) : []));
      this.emitFile({ type: "asset", fileName, source: texts.toSorted().join(`\n${"-".repeat(80)}\n\n`) });
    },
  };
}

function licenseOf(directory: string, modules: readonly string[]): string {
  const { name, version, license } = JSON.parse(readFileSync(join(directory, "package.json"), "utf8"));
  const [texts] = [licenseFilesIn(directory), readmeIn(directory), noticesIn(modules)].filter(
    ({ length }) => length > 0,
  );
  if (!texts) throw new Error(`${name} ${version} comes without the text of its licence, ${license}`);
  return `${name} ${version}: ${license}\n\n${texts.join("\n\n")}\n`;
}

function licenseFilesIn(directory: string): string[] {
  return textsIn(directory, /^(licen[cs]e|notice)/i);
}

/** The licence where it stands in the README, from its heading on. */
function readmeIn(directory: string): string[] {
  return textsIn(directory, /^readme/i).flatMap(
    (text) => /^#*\s*licen[cs]e\n[\s\S]*permission[\s\S]*/im.exec(text) ?? [],
  );
}

/** Copyright notices at the beginnings of files; some packages state their licence only there. */
function noticesIn(modules: readonly string[]): string[] {
  const comments = modules.map((id) => FIRST_COMMENT.exec(textOf(id))?.[0] ?? "");
  return [...new Set(comments.filter((comment) => /copyright/i.test(comment)))];
}

function textsIn(directory: string, name: RegExp): string[] {
  return readdirSync(directory).flatMap((file) => (name.test(file) ? textOf(join(directory, file)) : []));
}

function textOf(file: string): string {
  return readFileSync(file, "utf8").trim();
}
