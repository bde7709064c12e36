"""Read what the service says about a bulk export, under whatever names it says it."""

from dataclasses import replace

from adanalytics_client._effects import Head
from adanalytics_client._export import ExportFile, ExportPhase, ExportStatus
from adanalytics_client._export_entries import judged
from adanalytics_client._export_files import (
    GENERIC,
    SPECIFIC,
    address_in,
    check_all,
    count_of,
    files_in,
    measured,
    text_in,
)
from adanalytics_client._export_words import (
    Said,
    is_address,
    levels,
    merged,
    phase_of,
    word_of,
)
from adanalytics_client._json import Json
from adanalytics_client.errors import ProtocolError

_POLL = ("statusurl", "pollurl", "pollingurl", "statuslink", "monitorurl", "joburl")


def read_status(content: Json, head: Head, *, url: str, retry_after: float | None) -> ExportStatus:
    """Make sense of an answer about an export.

    Args:
        content: its JSON, or None when it had none.
        head: its status and headers.
        url: the address that gave it; relative addresses are seen from there.
        retry_after: seconds from its headers.

    Raises:
        ProtocolError: when it is done, and its files may not be all, or have not all an address.
    """
    answer = _named(content)
    found = levels(answer)
    said, word = merged(found), word_of(found)
    specific, generic = files_in(said, SPECIFIC, url), files_in(said, GENERIC, url)
    place = address_in(url, head.get("location"))
    poll = address_in(url, text_in(said, _POLL)) or _status_link(said, url)
    addressed = bool(specific or generic or place or poll)
    judgement = judged(phase_of(word, said, head, addressed=addressed), found)
    phase = judgement.phase
    if not (specific or generic) and place is not None:
        # Where a job was created and nothing else is said, this may be the job or its file.
        phase = ExportPhase.WORKING if phase is ExportPhase.DONE and word is None else phase
        generic = (ExportFile(place),)
    # Beside an unfinished state a plain "url" or Location is where to ask, not the file. Several
    # are files.
    files = specific or (generic if phase is ExportPhase.DONE or len(generic) > 1 else ())
    if poll is None and phase is ExportPhase.WORKING and len(generic) == 1 and generic[0]:
        poll = generic[0].url
    whole = measured(_whole(files, phase), said)
    if phase is ExportPhase.DONE:
        check_all(whole, said, url)
    return ExportStatus(
        phase=phase,
        word=word,
        export_id=text_in(said, ("exportid", "jobid", "id")),
        files=whole,
        reason=judgement.reason,
        row_count=count_of(said.get("rowcount")),
        retry_after=retry_after,
        poll_url=poll,
        keys=tuple(content) if isinstance(content, dict) else (),
        answer=answer,
    )


def following(fresh: ExportStatus, known: ExportStatus) -> ExportStatus:
    """What an answer and the earlier ones say; a size and checksum may come after the address."""
    if fresh.done and not fresh.files:
        said = merged(levels(fresh.answer))
        known = replace(known, files=measured(known.files, said, anew=True))
    return fresh.after(known)


def _named(content: Json) -> dict[str, Json]:
    """An answer that is only a list of files, under the name for that."""
    if isinstance(content, dict):
        return content
    return {"files": content} if isinstance(content, list) else {}


def _whole(files: tuple[ExportFile | None, ...], phase: ExportPhase) -> tuple[ExportFile, ...]:
    """The files, when each has its address; while the export is under way some may be to come."""
    named = tuple(each for each in files if each)
    if len(named) == len(files):
        return named
    if phase is ExportPhase.DONE:
        raise ProtocolError(
            f"The export is done and has {len(files)} files, but {len(files) - len(named)} of "
            "them without an address. Nothing is downloaded, as it would not be all; start the "
            "export again, or ask for less."
        )
    return ()


def _status_link(said: Said, base: str) -> str | None:
    status = said.get("status")
    return address_in(base, status) if isinstance(status, str) and is_address(status) else None
