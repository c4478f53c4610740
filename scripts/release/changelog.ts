const UNRELEASED = "## Unreleased\n";

/**
 * Moves what is unreleased in a changelog below a heading for a version, and
 * leaves an empty section for what comes next.
 */
export function releaseChangelog(
  text: string,
  version: string,
  date: string,
): string {
  if (!text.includes(UNRELEASED)) {
    throw new Error('changelog has no section "Unreleased": add it');
  }
  return text.replace(UNRELEASED, `${UNRELEASED}\n## ${version} (${date})\n`);
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
