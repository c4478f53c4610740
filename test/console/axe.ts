import { AxeBuilder } from "@axe-core/playwright";
import type { Page } from "playwright-core";

const TAGS = [
  "wcag2a",
  "wcag2aa",
  "wcag21a",
  "wcag21aa",
  "wcag22aa",
  "best-practice",
];

/**
 * Returns what axe finds fault with in a page as it is, and whether the page is
 * wider than the screen.
 */
export async function axeFindings(page: Page): Promise<unknown[]> {
  const { violations } = await new AxeBuilder({ page })
    .withTags(TAGS)
    .setLegacyMode()
    .analyze();
  const found: unknown[] = violations.map(({ id, nodes }) => [
    id,
    nodes.slice(0, 3).map(({ html }) => html.slice(0, 160)),
  ]);
  const isWide = await page.evaluate(
    "document.documentElement.scrollWidth > innerWidth",
  );
  return isWide ? [...found, "wider than the screen"] : found;
}
