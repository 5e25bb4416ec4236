"""BPMN 2.0 processes to definitions.

User tasks become forms, or approvals where a gateway behind them asks a yes-or-no question of that kind; service,
script, rule and send tasks activities; receive tasks and message events signals; timers waits; call activities
subflows. Gateways become conditions, timers on a task its expiry, errors on a task what happens when it fails. Ways
back behind a person become send-backs. Embedded subprocesses are drawn where they stand.
"""

from __future__ import annotations

from signoff.interchange.bpmn_drawing import BpmnDrawing
from signoff.interchange.bpmn_reading import label_of, read_model
from signoff.interchange.naming import name_of
from signoff.interchange.shaping import finish
from signoff.interchange.sketch import Sketch
from signoff.interchange.translated import Translated, Unreadable, of_any_form, unreadable
from signoff.interchange.xml_text import read_xml


@of_any_form
def translate(source: str, *, name: str = "") -> Translated:
    """A process as a definition.

    Args:
        source: the XML text.
        name: of the definition; made from the process's where it is empty.
    """
    try:
        model = read_model(read_xml(source))
    except Unreadable as error:
        return unreadable(str(error))
    if model is None:
        return unreadable("it has no process with anything in it")
    title = label_of(model.process)[:200]
    sketch = Sketch(name_of(name or title, "process"), title)
    if model.others:
        sketch.note(f"{model.others} other processes of the file are left out; messages between them are signals.")
    BpmnDrawing(sketch, model).draw()
    return finish(sketch)
