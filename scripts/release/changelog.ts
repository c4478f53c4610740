/**
 * Adds a section to a changelog, above those of earlier versions: what each of
 * the changesets says, with what breaks first.
 */
export function releaseChangelog(
  text: string,
  heading: string,
  changesets: readonly string[],
): string {
  const [head = "", ...sections] = text.split(/^(?=## )/m);
  const notes = changesets.map(
    (changeset) => changeset.split(/^---$/m).at(-1)?.trim() ?? "",
  );
  const { breaking = [], others = [] } = Object.groupBy(notes, (note) =>
    note.startsWith("**Breaking**") ? "breaking" : "others",
  );
  const lines = [...breaking, ...others].map((note) => `- ${note}\n`).join("");
  return [head, `## ${heading}\n\n${lines}\n`, ...sections].join("");
}

/**
 * Returns the section of a version in a changelog, without its heading. Throws
 * when there is none or it is empty.
 */
export function releaseNotes(text: string, version: string): string {
  const sections = text.split(/^## /m).slice(1);
  const section = sections.find((candidate) =>
    candidate.startsWith(`${version} (`),
  );
  const notes = section?.slice(section.indexOf("\n")).trim() ?? "";
  if (notes === "") {
    throw new Error(
      `changelog has nothing about version ${version}: run pnpm release:version`,
    );
  }
  return `${notes}\n`;
}

/**
 * Replaces the version in the names of tarballs, as the install lines of pages
 * have them.
 */
export function renameTarballs(page: string, from: string, to: string): string {
  return page.replaceAll(`-${from}.tgz`, `-${to}.tgz`);
}
