/** How the page of a report looks: in light and dark, on a phone, and on paper, where every row is open. */
export const PAGE_STYLE = `
:root { color-scheme: light dark; --ink: light-dark(#1c1e21, #e6e6e3); --soft: light-dark(#5c6066, #a2a5a8);
  --line: light-dark(#dddfe2, #3a3d40); --paper: light-dark(#fff, #17191b); --code: light-dark(#f5f5f2, #202325);
  --passed: light-dark(#1a7a45, #5cc98a); --failed: light-dark(#b3261e, #ff8a80); --known: light-dark(#8a5a00, #f0b95a); }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; }
main { max-width: 62rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 1.5rem 0 .25rem; text-wrap: balance; }
h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
h3 { font-size: .9rem; margin: 1rem 0 .25rem; }
p { margin: .25rem 0; overflow-wrap: anywhere; }
.facts { color: var(--soft); display: flex; flex-wrap: wrap; gap: .25rem 1rem; font-size: .9rem; }
.sum { font-weight: 600; }
.bar { display: flex; gap: 2px; height: .5rem; margin: .5rem 0 0; }
.bar i { background: var(--soft); opacity: .45; }
.bar .passed { background: var(--passed); opacity: 1; }
.bar .failed { background: var(--failed); opacity: 1; }
.bar .known { background: var(--known); opacity: 1; }
.rows { list-style: none; margin: 0; padding: 0; border-top: 1px solid var(--line); }
.rows li { border-bottom: 1px solid var(--line); padding: .4rem 0; }
.rows li:target { background: var(--code); }
.head { display: grid; grid-template-columns: 5rem 15rem 1fr auto; gap: .25rem .75rem; align-items: baseline; }
summary { cursor: pointer; }
summary .id::after { content: " +"; color: var(--soft); }
details[open] > summary .id::after { content: " −"; }
.id { font-family: ui-monospace, monospace; font-size: .875rem; overflow-wrap: anywhere; }
.source { color: var(--soft); font-size: .8rem; text-align: right; }
.chip { font-weight: 600; font-size: .85rem; color: var(--soft); }
.chip.passed { color: var(--passed); }
.chip.failed { color: var(--failed); }
.chip.known { color: var(--known); }
.why { color: var(--soft); font-size: .875rem; margin-left: 5.75rem; }
a { color: inherit; }
pre { background: var(--code); padding: .75rem; overflow: auto; max-height: 24rem; font: .8rem/1.4 ui-monospace, monospace;
  white-space: pre-wrap; overflow-wrap: anywhere; margin: 0; }
@media (max-width: 44rem) {
  .head { grid-template-columns: 4.5rem 1fr; }
  .what, .source { grid-column: 2; text-align: left; }
  .why { margin-left: 0; }
}
@media print {
  :root { color-scheme: light; }
  main { max-width: none; padding: 0; }
  details::details-content { content-visibility: visible; block-size: auto; }
  pre { max-height: none; }
  li { break-inside: avoid-page; }
}
`;
