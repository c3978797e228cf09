/** The look of the documentation: light and dark as the system has it, and one column on a phone. */
export const style = `:root{--ink:#17202e;--soft:#566073;--line:#dfe3ea;--back:#fff;--code:#f4f6f9;--accent:#0b5d53;--on:#e3f2ef;--string:#0a5c36;--word:#8a1c62;--bad:#a3241b}
@media(prefers-color-scheme:dark){:root{--ink:#e3e8f0;--soft:#a3afc1;--line:#2c3544;--back:#11161f;--code:#1a212d;--accent:#6fd3c2;--on:#16322f;--string:#8fd6a6;--word:#f0a3d0;--bad:#ff9a8f}}
*{box-sizing:border-box}html{scroll-padding-top:5rem}
body{margin:0;font:16px/1.6 system-ui,sans-serif;color:var(--ink);background:var(--back);overflow-wrap:break-word}
a{color:var(--accent);text-underline-offset:.15em}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
.skip{position:absolute;left:-99rem}.skip:focus{left:1rem;top:1rem;z-index:3;background:var(--back);padding:.5rem}
header{position:sticky;top:0;z-index:2;display:flex;gap:1rem;align-items:center;padding:.6rem 1.25rem;background:var(--back);border-bottom:1px solid var(--line)}
.home{display:flex;gap:.5rem;align-items:center;font-weight:650;text-decoration:none;color:var(--ink)}.home svg{color:var(--accent)}.home small{color:var(--soft);font-weight:400}
#search{position:relative;flex:1;max-width:30rem;margin-left:auto}
input,textarea,select{width:100%;font:inherit;color:inherit;background:var(--code);border:1px solid var(--soft);border-radius:6px;padding:.35rem .7rem}
textarea{font-family:ui-monospace,monospace;font-size:.9rem}select{width:auto}
#found{position:absolute;right:0;left:0;max-height:70vh;overflow:auto;margin:.25rem 0 0;padding:.25rem;list-style:none;background:var(--back);border:1px solid var(--line);border-radius:8px;box-shadow:0 8px 24px #0003}
#found li{padding:.35rem .6rem;border-radius:5px;cursor:pointer}#found small{display:block;color:var(--soft)}
#found [aria-selected=true]{background:var(--on)}
button{font:inherit;color:inherit;background:var(--code);border:1px solid var(--line);border-radius:6px;padding:.25rem .7rem;cursor:pointer}
#menu{display:none}
.columns{display:grid;grid-template-columns:17rem minmax(0,1fr);max-width:80rem;margin:auto}
nav{position:sticky;top:3.4rem;align-self:start;max-height:calc(100vh - 3.4rem);overflow:auto;padding:1rem 1.25rem 3rem;font-size:.93rem;border-right:1px solid var(--line)}
nav p{margin:1rem 0 .3rem;color:var(--soft);font-size:.8rem;font-weight:650;text-transform:uppercase;letter-spacing:.05em}
nav ul{list-style:none;margin:0;padding:0}nav ul ul{margin:.2rem 0 .5rem .6rem;border-left:1px solid var(--line);font-size:.87rem}
nav a{display:block;padding:.15rem .6rem;border-radius:5px;color:var(--ink);text-decoration:none}nav a:hover{background:var(--code)}
nav [aria-current=page]{color:var(--accent);font-weight:650}nav [aria-current=location]{background:var(--on);color:var(--accent)}
main{padding:1rem 2.5rem 6rem;max-width:58rem;outline:0}
h1{font-size:2rem;line-height:1.2;margin:1rem 0}h2{font-size:1.35rem;line-height:1.3;margin:2.5rem 0 .5rem}h3{margin:1.8rem 0 .4rem}
section{border-top:1px solid var(--line);margin-top:2.5rem}section h2{margin-top:1.5rem}
.lead{font-size:1.2rem;color:var(--soft)}.cards{list-style:none;padding:0;display:grid;grid-template-columns:repeat(auto-fill,minmax(15rem,1fr));gap:.75rem}.cards li{border:1px solid var(--line);border-radius:8px;padding:.7rem 1rem}
code,pre{font-family:ui-monospace,monospace;font-size:.875em}:not(pre)>code{background:var(--code);border-radius:4px;padding:.1em .3em;overflow-wrap:anywhere}
pre{margin:.5rem 0;padding:.9rem 1rem;background:var(--code);border-radius:8px;overflow:auto;line-height:1.5;tab-size:2}
.box{position:relative}.copy{position:absolute;top:.4rem;right:.4rem;font-size:.75rem;padding:.1rem .5rem;background:var(--back)}
.tabs{display:flex;gap:.25rem}.tabs button{border:0;background:0 0;font-size:.85rem;color:var(--soft)}.tabs [aria-pressed=true]{color:var(--accent);font-weight:650;text-decoration:underline;text-underline-offset:.35em}
.route b{color:var(--accent)}.route .delete{color:var(--bad)}.route span,.label,.tag,small,summary{color:var(--soft);font-size:.87rem}.label{margin:.8rem 0 -.3rem;font-weight:600}
.refused{color:var(--bad)}
table{border-collapse:collapse;width:100%;margin:.7rem 0;font-size:.93rem}th,td{text-align:left;vertical-align:top;padding:.35rem .8rem .35rem 0;border-bottom:1px solid var(--line)}td code{overflow-wrap:anywhere}
details{margin:.7rem 0}summary{cursor:pointer}
img,svg.figure{max-width:100%;height:auto}
::highlight(text){color:var(--string)}::highlight(word){color:var(--word)}::highlight(comment){color:var(--soft)}
@media(max-width:52rem){.columns{display:block}nav{position:static;max-height:none;border:0}.live #menu{display:block}.live nav{display:none}.live nav.open{display:block}main{padding:.5rem 1.25rem 4rem}header{padding:.5rem 1rem;gap:.6rem}.home small{display:none}html{scroll-padding-top:4rem}
thead{position:absolute;left:-99rem}tr{display:block;padding:.4rem 0;border-bottom:1px solid var(--line)}td{display:block;border:0;padding:.1rem 0}}
`
