import { html, type Markup } from "./markup.ts";

/**
 * The style of the page: in light and dark mode, on small screens, and in
 * print, where everything is open.
 */
export const PAGE_STYLE: Markup = html`<style>
:root { color-scheme: light dark; --ink: light-dark(#1c1e21, #e6e6e3); --soft: light-dark(#5c6066, #a2a5a8);
  --line: light-dark(#dddfe2, #3a3d40); --paper: light-dark(#fff, #17191b); --code: light-dark(#f5f5f2, #202325);
  --passed: light-dark(#1a7a45, #5cc98a); --failed: light-dark(#b3261e, #ff8a80); --known: light-dark(#8a5a00, #f0b95a);
  --link: light-dark(#0b57a4, #8ab8f0); }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
main { max-width: 68rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 1.5rem 0 .25rem; text-wrap: balance; }
h2 { font-size: 1.15rem; margin: 2.5rem 0 .5rem; }
h3 { font-size: 1rem; margin: 0 0 .5rem; }
p { margin: .25rem 0; }
a { color: var(--link); }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
code, pre { font-family: ui-monospace, monospace; font-size: .85rem; }
small, .facts, .why, .note { color: var(--soft); font-size: .85rem; }
.facts { display: flex; flex-wrap: wrap; gap: .25rem 1rem; }
.mark { font-weight: 600; font-size: .85rem; color: var(--soft); }
.mark.passed { color: var(--passed); }
.mark.failed { color: var(--failed); }
.mark.known { color: var(--known); }
table { border-collapse: collapse; }
th, td { text-align: left; vertical-align: baseline; font-weight: normal; padding: .4rem .75rem .4rem 0; }
th:last-child, td:last-child { text-align: right; padding-right: 0; }
tbody tr { border-top: 1px solid var(--line); }
.totals { margin: 1rem 0 .75rem; overflow-wrap: normal; }
.totals th, .totals td { padding: .25rem 0 .25rem 2rem; text-align: right; font-variant-numeric: tabular-nums; }
.totals th:first-child { text-align: left; padding-left: 0; }
.totals tbody tr:last-child :is(th, td) { font-weight: 600; }
.bar { display: flex; gap: 2px; height: .5rem; }
.bar i { background: var(--line); }
.bar .passed { background: var(--passed); }
.bar .failed { background: var(--failed); }
.bar .known { background: var(--known); }
.results { width: 100%; }
thead th { color: var(--soft); font-size: .85rem; }
.results td:first-child, .results th:first-child { width: 6.5rem; }
.results td:last-child { width: 13rem; }
.pair { display: grid; grid-template-columns: 16rem 1fr; gap: 0 .75rem; align-items: baseline; }
article { border-left: 3px solid var(--failed); padding: .1rem 0 .1rem 1rem; margin: 0 0 2rem; }
article:has(> h3 > .known) { border-color: var(--known); }
article:target { border-left-width: .5rem; }
.reason, pre { overflow: auto; max-height: 24rem; --back: var(--paper); background:
  linear-gradient(transparent, var(--back) 75%) bottom / 100% 2rem no-repeat local,
  linear-gradient(transparent, var(--line)) bottom / 100% .75rem no-repeat var(--back); }
.missed { margin: .25rem 0 .75rem; padding-left: 1.25rem; }
details { margin: .5rem 0; }
summary { cursor: pointer; font-size: .9rem; }
.exchange { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(22rem, 100%), 1fr)); gap: .75rem; margin: .5rem 0 1rem; }
figure { margin: 0; min-width: 0; }
figcaption { color: var(--soft); font-size: .85rem; }
pre { --back: var(--code); padding: .75rem; line-height: 1.45; white-space: pre-wrap; margin: 0; }
@media (max-width: 44rem) {
  .results td:first-child, .results th:first-child { width: 5.5rem; }
  .results td:last-child { width: 6rem; }
  .pair { grid-template-columns: 1fr; }
  article { padding-left: .75rem; }
}
@media print {
  :root { color-scheme: light; }
  main { max-width: none; padding: 0; }
  details::details-content { content-visibility: visible; block-size: auto; }
  pre, .reason { max-height: none; }
  tr { break-inside: avoid; }
}
</style>`;
