// Every address of the interface that a browser can open, with at least one example of each on a furnished farm.
import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { HEBREW, LONG, MARKUP, TURNED, UNBROKEN } from './furnished.mjs';

const source = join(dirname(fileURLToPath(import.meta.url)), '../../crates/ui/src');
const path = (...names) => names.map(encodeURIComponent).join('/');

/** The routes of the interface that answer GET, as its source registers them. */
export function routes() {
  const files = readdirSync(source, { recursive: true }).filter((name) => name.endsWith('.rs') && !name.startsWith('tests'));
  const texts = files.map((name) => readFileSync(join(source, name), 'utf8').split('#[cfg(test)]')[0]);
  return texts.flatMap((text) => [...text.matchAll(/\.route\(\s*"([^"]+)",\s*get\(/g)].map(([, route]) => route));
}

/** Routes that answer with something else than a page of their own. */
export const NO_PAGES = ['/assets/{hash}/{*name}', '/favicon.ico', '/download/{id}/{name}', '/audit/{collection}/export', '/farm/audit/export', '/items/{id}/open', '/items/{id}/taken', '/items/{id}/state', '/searches/counts', '/items/{id}/pages', '/items/{id}/picture', '/items/{id}/members/{at}', '/items/{id}/inside', '/items/{id}/ids', '/items/{id}/rows.csv', '/items/{id}/grid', '/items/{id}/changed', '/s/{link}/{secret}/view', '/items/{id}/grid/rows', '/items/{id}/logo', '/items/{id}/templates/{name}', '/farm/templates/{name}', '/browse/', '/ui-kit/kit.css', '/items/{id}/rows.xlsx', '/people/me', '/people/{id}/picture'];

/** For each route the pages to look at: a name for the picture, and the address. */
export function pages(farm) {
  const { site, library, plan, held, offers, draft, columns } = farm;
  const at = ({ id }, rest = '') => `/items/${id}${rest}`;
  const in_ = (...names) => `/browse/Documents/${path(...names)}`;
  const collection = library.site_collection;
  return {
    '/': { home: '/' },
    '/sites': { sites: '/sites' },
    '/shared': { shared: '/shared' },
    '/browse': { 'site-root': '/browse' },
    '/browse/{*path}': {
      library: '/browse/Documents', 'library-filtered': '/browse/Documents?name=an&who=admin', 'library-nothing': '/browse/Documents?name=nothing+like+this',
      'library-empty': '/browse/Empty', drafts: '/browse/Drafts', folder: in_('Offers'), 'folder-hostile': in_('Hostile'), 'folder-deep': in_('Hostile', 'Folder in folder '.repeat(12).trim(), 'and deeper', 'and deeper still'),
      'list-hostile': `/browse/${path(farm.list.name)}`, 'list-bare': '/browse/Bare%20list', 'list-nothing': `/browse/${path(farm.list.name)}?name=nothing+like+this`, 'list-grid': `/browse/${path(farm.list.name)}?as=grid`, 'list-grid-bare': '/browse/Bare%20list?as=grid', 'list-hostile-grouped': `/browse/${path(farm.list.name)}?sort=modified&group=yes`,
      row: `/browse/${path(farm.list.name, '1')}`, attachment: `/browse/${path(farm.list.name, '1', 'Plan.txt')}`, 'attachment-long': `/browse/${path(farm.list.name, '2', LONG)}`, 'row-long': `/browse/${path(farm.list.name, '2')}`, 'row-unbroken': `/browse/${path(farm.list.name, '3')}`,
      site: '/browse/sites/sales', 'site-long': '/browse/sites/legal', subsite: '/browse/projects', 'site-template': '/browse/From%20a%20template', 'site-template-list': '/browse/From%20a%20template/Tasks',
      document: in_('Plan.txt'), 'document-draft': '/browse/Drafts/Draft.md?details', page: in_('Minutes of the meeting.md'), 'page-details': `${in_('Minutes of the meeting.md')}?details`, 'page-draft': '/browse/Drafts/Draft.md', 'page-parts': in_('Parts.md'), 'page-hostile': in_('Hostile', 'page.md'), 'document-held': in_('Held.txt'), 'document-open': in_('Open.docx'), 'document-lost': in_('Lost.bin'),
      'document-long': in_('Hostile', LONG), 'document-unbroken': in_('Hostile', UNBROKEN), 'document-turned': in_('Hostile', TURNED), 'document-markup': in_('Hostile', MARKUP), 'document-hebrew': in_('Hostile', HEBREW),
      ...Object.fromEntries(['add.rs', 'minutes.md', 'people.csv', 'three.pdf', 'broken.pdf', 'picture.png', 'drawing.svg', 'tone.wav', 'Budget.xlsx', 'unknown.bin'].map((name) => [`kind-${name.split('.').join('-')}`, in_('Kinds', name)])),
    },
    '/search': { search: '/search', 'search-found': '/search?q=an', 'search-none': '/search?q=nothing+like+this', 'search-wider': '/search?q=nothing+type:pdf+in:Documents' },
    '/searches': { 'saved-searches': '/searches' },
    '/searches/new': { 'saved-search-new': '/searches/new?q=plan' },
    '/searches/{id}': { 'saved-search': `/searches/${farm.search.id}` },
    '/searches/{id}/edit': { 'saved-search-edit': `/searches/${farm.search.id}/edit` },
    '/searches/{id}/delete': { 'saved-search-delete': `/searches/${farm.search.id}/delete` },
    '/sign-in': {}, '/s/{link}/{secret}': {}, '/new-password/{secret}': {}, // What somebody sees who is not signed in: below.
    '/people': { people: '/people', 'people-none': '/people?q=nobody+has+this+name' },
    '/people/{id}': { person: `/people/${farm.people.berta.id}`, 'person-hostile': `/people/${farm.people.markup.id}`, 'person-empty': `/people/${farm.people.carl.id}` },
    '/account/profile': { profile: '/account/profile' },
    '/account': { account: '/account' },
    '/account/password': { password: '/account/password' },
    '/account/tokens': { token: '/account/tokens' },
    '/ui-kit': farm.kit ? { kit: '/ui-kit' } : {},
    '/ui-kit/form': farm.kit ? { 'kit-form': '/ui-kit/form' } : {},
    '/items/{id}': { details: at(plan), 'details-passages': at(plan, '?q=plan'), 'details-library': at(library), 'details-site': at(site), 'details-row': at(farm.row) },
    '/items/{id}/activity': { activity: at(site, '/activity'), 'activity-library': at(library, '/activity'), 'activity-list': at(farm.list, '/activity'), 'activity-none': at(farm.empty, '/activity') },
    '/items/{id}/filter': { 'filter-by': at(library, '/filter?column=by&sort=name'), 'filter-type': at(library, '/filter?column=type&sort=name'), 'filter-modified': at(library, '/filter?column=modified&sort=name') },
    '/items/{id}/rename': { rename: at(offers, '/rename') },
    '/items/{id}/delete': { delete: at(offers, '/delete') },
    '/items/{id}/new-page': { 'new-page': at(library, '/new-page') },
    '/items/{id}/new-document': { 'new-document': at(library, '/new-document') },
    '/items/{id}/edit': { 'page-edit': at(farm.partsPage, '/edit'), 'page-edit-hostile': at(farm.hostilePage, '/edit') },
    '/items/{id}/new-folder': { 'new-folder': at(library, '/new-folder') },
    '/items/{id}/new-library': { 'new-library': at(site, '/new-library') },
    '/items/{id}/new-list': { 'new-list': at(site, '/new-list') },
    '/items/{id}/new-row': { 'new-row': at(farm.list, '/new-row') },
    '/items/{id}/paste': { paste: at(farm.list, '/paste') },
    '/items/{id}/new-site': { 'new-site': at(site, '/new-site') },
    '/items/{id}/submit': { submit: at(draft, '/submit') },
    '/items/{id}/reject': { reject: at(draft, '/reject') },
    '/items/{id}/check-in': { 'check-in': at(held, '/check-in') },
    '/items/{id}/discard': { discard: at(held, '/discard') },
    '/items/{id}/manage': { manage: at(site, '/manage'), 'manage-library': at(library, '/manage'), 'manage-list': at(farm.list, '/manage?sort=name'), 'manage-deep': at(farm.deepest, '/manage') },
    '/items/{id}/site-settings': { 'site-settings': at(site, '/site-settings'), 'site-settings-coloured': at(farm.sales, '/site-settings'), 'site-settings-template': at(farm.templated, '/site-settings') },
    '/items/{id}/save-template': { 'template-save': at(site, '/save-template'), 'template-save-list': at(farm.list, '/save-template') },
    '/items/{id}/templates': { templates: at(site, '/templates') },
    '/items/{id}/templates/upload': { 'template-upload': at(site, '/templates/upload') },
    '/items/{id}/templates/{name}/rename': { 'template-rename': at(site, '/templates/plans/rename') },
    '/farm/backups': { 'farm-backups': '/farm/backups' },
    '/farm/templates': { 'farm-templates': '/farm/templates' },
    '/farm/templates/upload': { 'farm-template-upload': '/farm/templates/upload' },
    '/farm/templates/{name}/rename': { 'farm-template-rename': '/farm/templates/plans/rename' },
    '/values': { several: `/values?ids=${plan.id},${held.id}` },
    '/items/{id}/values': { values: at(plan, '/values'), 'row-values': at(farm.row, '/values') },
    '/items/{id}/values/{column}': { value: at(plan, `/values/${columns[0].id}`) },
    '/items/{id}/settings': { 'library-settings': at(library, '/settings'), 'list-settings': at(farm.list, '/settings'), 'drafts-settings': at(farm.drafts, '/settings') },
    '/items/{id}/columns/{column}': { 'column-new': at(library, '/columns/new'), column: at(library, `/columns/${columns[3].id}`) },
    '/items/{id}/view': { view: at(library, '/view') },
    '/items/{id}/views': { 'view-save': at(library, '/views') },
    '/items/{id}/versions': { versions: at(plan, '/versions') },
    '/items/{id}/compare': { compare: at(plan, '/compare?from=1.0') },
    '/items/{id}/links': { 'link-new': at(held, '/links') },
    '/items/{id}/link-rule': { 'link-rule': at(site, '/link-rule') },
    '/items/{id}/permissions': { permissions: at(library, '/permissions'), 'permissions-own': at(offers, '/permissions'), 'permissions-why': at(offers, '/permissions?explain=berta'), 'permissions-site': at(site, '/permissions') },
    '/items/{id}/permissions/grant': { grant: at(offers, '/permissions/grant') },
    '/items/{id}/share': { share: at(offers, '/share') },
    '/items/{id}/upload': { upload: at(library, '/upload'), attach: at(farm.row, '/upload') },
    '/items/{id}/replace': { replace: at(draft, '/replace') },
    '/place': { move: `/place?action=move&ids=${offers.id}`, copy: `/place?action=copy&ids=${held.id}` },
    '/audit/{collection}': { audit: `/audit/${collection}`, 'audit-none': `/audit/${collection}?action=document.create&who=nobody` },
    '/bin/{collection}': { bin: `/bin/${collection}`, 'bin-site': `/bin/${collection}?of=site` },
    '/farm': { farm: '/farm' },
    '/farm/audit': { 'farm-audit': '/farm/audit', 'farm-audit-stranger': '/farm/audit?who=nobody&from=2026-01-01' },
    '/farm/figures': { figures: '/farm/figures' },
    '/farm/sites/new': { 'farm-site': '/farm/sites/new' },
    '/farm/sites/{site}/quota': { quota: `/farm/sites/${farm.sales.id}/quota` },
    '/farm/users': { users: '/farm/users' },
    '/farm/users/new': { 'user-new': '/farm/users/new' },
    '/farm/users/{user}': { user: `/farm/users/${farm.people.berta.id}` },
    '/farm/users/{user}/password': { 'user-password': `/farm/users/${farm.people.berta.id}/password` },
    '/farm/roles': { roles: '/farm/roles' },
    '/farm/roles/new': { 'role-new': '/farm/roles/new' },
    '/farm/roles/{role}': { role: `/farm/roles/${farm.role.id}` },
    '/farm/roles/{role}/delete': { 'role-delete': `/farm/roles/${farm.role.id}/delete` },
    '/farm/groups': { groups: '/farm/groups' },
    '/farm/groups/new': { 'group-new': '/farm/groups/new' },
    '/farm/groups/{group}': { group: `/farm/groups/${farm.group.id}` },
    '/farm/groups/{group}/change': { 'group-change': `/farm/groups/${farm.group.id}/change` },
    '/farm/stores': { stores: '/farm/stores' },
    '/farm/new-store/{kind}': { 'store-directory': '/farm/new-store/directory', 'store-s3': '/farm/new-store/s3' },
    '/farm/stores/{store}': { store: '/farm/stores/archive' },
    '/farm/stores/{store}/drain': { 'store-drain': '/farm/stores/archive/drain' },
    '/farm/stores/{store}/remove': { 'store-remove': '/farm/stores/archive/remove' },
    '/farm/policies': { policies: '/farm/policies' },
    '/farm/policies/new': { 'policy-new': '/farm/policies/new' },
    '/farm/policies/{kind}/{target}': { policy: `/farm/policies/library/${library.id}` },
    '/farm/jobs': { jobs: '/farm/jobs' },
    '/farm/jobs/new/{kind}': Object.fromEntries(['migrate', 'collect', 'check', 'crawl'].map((kind) => [`job-new-${kind}`, `/farm/jobs/new/${kind}`])),
    '/farm/jobs/{job}': { job: `/farm/jobs/${farm.check.id}` },
    '/farm/search': { 'search-indexes': '/farm/search' },
    '/farm/search/settings': { 'search-settings': '/farm/search/settings' },
    '/farm/reclaim': { reclaim: '/farm/reclaim' },
    '/farm/faults': { faults: '/farm/faults' },
  };
}
