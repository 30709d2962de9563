"""The page's style sheet: light and dark by what the reader's system prefers."""

STYLE = """
:root { color-scheme: light dark; --page: #f7f7f5; --card: #fff; --ink: #1c1f23; --soft: #5d6570; --line: #e3e4e0;
  --primal: #1f6feb; --dual: #c2410c; --gap: #6d3fc0; --good: #117a3d; --bad: #b42318; }
@media (prefers-color-scheme: dark) { :root { --page: #131518; --card: #1c1f24; --ink: #e8eaed; --soft: #9aa3ad;
  --line: #30343a; --primal: #6cb0ff; --dual: #ff9f68; --gap: #bd9bff; --good: #56d364; --bad: #ff8a80; } }
* { box-sizing: border-box; }
body { margin: 0; padding: 2.5rem 1.25rem 4rem; background: var(--page); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
main { max-width: 1180px; margin: auto; }
h1 { font-size: 1.7rem; margin: 0 0 1.25rem; letter-spacing: -0.01em; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 0 0 .6rem; overflow-wrap: anywhere; }
section { background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 1.4rem 1.5rem;
  margin-bottom: 1.25rem; }
.status { display: inline-block; padding: .1rem .65rem; border-radius: 99px; font-size: .85rem; font-weight: 600;
  color: var(--bad); border: 1px solid currentColor; vertical-align: middle; }
.status.good { color: var(--good); }
.words { font-size: 1.08rem; max-width: 46rem; }
.note, figcaption { color: var(--soft); font-size: .9rem; }
.numbers { display: grid; grid-template-columns: repeat(auto-fit, minmax(138px, 1fr)); gap: .9rem; margin: 1.1rem 0 0; }
.numbers div { border-left: 3px solid var(--line); padding-left: .8rem; }
.numbers .primal { border-color: var(--primal); } .numbers .dual { border-color: var(--dual); }
.numbers .gap { border-color: var(--gap); }
dt { color: var(--soft); font-size: .82rem; } dd { margin: 0; font-variant-numeric: tabular-nums; }
.numbers dd { font-size: 1.05rem; }
.facts { display: grid; grid-template-columns: max-content 1fr; gap: .3rem 1.2rem; margin: 0; }
.facts dt, .facts dd { font-size: .95rem; overflow-wrap: anywhere; }
code { font: .92em ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
.tabs > input { position: absolute; opacity: 0; pointer-events: none; }
.tabs > label { display: inline-block; padding: .2rem .8rem; border-radius: 99px; color: var(--soft); cursor: pointer;
  font-size: .9rem; }
.tabs > input:checked + label { background: var(--line); color: var(--ink); }
.tabs > input:focus-visible + label { outline: 2px solid var(--primal); }
.panels > div { display: none; grid-template-columns: repeat(auto-fit, minmax(min(100%, 430px), 1fr)); gap: 1rem 2rem; }
.tabs > input:nth-of-type(1):checked ~ .panels > :nth-child(1),
.tabs > input:nth-of-type(2):checked ~ .panels > :nth-child(2),
.tabs > input:nth-of-type(3):checked ~ .panels > :nth-child(3) { display: grid; }
figure { margin: .8rem 0 0; } figcaption { margin-bottom: .3rem; }
svg { width: 100%; height: auto; display: block; }
svg text { fill: var(--soft); font-size: 12px; font-variant-numeric: tabular-nums; }
svg .label { font-size: 12.5px; } svg .raised { font-size: 9px; }
.grid { stroke: var(--line); } .axis { stroke: var(--soft); } .goal { stroke: var(--good); stroke-dasharray: 5 4; }
polyline { fill: none; stroke-width: 2; stroke-linejoin: round; stroke: currentColor; } circle { fill: currentColor; }
g.primal, .key.primal { color: var(--primal); } g.dual, .key.dual { color: var(--dual); }
g.gap, .key.gap { color: var(--gap); } .key.tol { color: var(--good); } .key { font-weight: 600; }
details { margin-top: 1rem; } summary { cursor: pointer; color: var(--soft); }
table { border-collapse: collapse; margin-top: .6rem; font-size: .88rem; font-variant-numeric: tabular-nums; }
.scroll { overflow-x: auto; } th, td { padding: .15rem .9rem .15rem 0; text-align: right; white-space: nowrap; }
th { color: var(--soft); font-weight: 500; }
@media print { .panels > div { display: grid !important; } }
"""
