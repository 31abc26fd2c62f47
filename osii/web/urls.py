"""Routes of the dashboard."""

from django.contrib.admin.forms import AdminAuthenticationForm
from django.contrib.auth import views as auth
from django.urls import path

from .views import activity, batches, chats, context, documents, graph, home, imports, propositions, repair, review

login = auth.LoginView.as_view(template_name="account/login.html", authentication_form=AdminAuthenticationForm)

urlpatterns = [
    path("", home.home, name="home"),
    path("login/", login, name="login"),
    path("logout/", auth.LogoutView.as_view(), name="logout"),
    path("chats/", chats.chats, name="chats"),
    path("chats/<uuid:chat_id>/", chats.chat, name="chat"),
    path("chats/<uuid:chat_id>/live/", chats.chat_live, name="chat-live"),
    path("chats/<uuid:chat_id>/extract/", chats.chat_extract, name="chat-extract"),
    path("chats/<uuid:chat_id>/abort/", chats.chat_abort, name="chat-abort"),
    path("chats/<uuid:chat_id>/steer/", chats.chat_steer, name="chat-steer"),
    path("chats/<uuid:chat_id>/reread/", repair.chat_reread, name="chat-reread"),
    path("chats/<uuid:chat_id>/purge/", repair.chat_purge, name="chat-purge"),
    path("chats/<uuid:chat_id>/batches/", batches.chat_batches, name="chat-batches"),
    path("activity/", activity.activity, name="activity"),
    path("batches/<uuid:batch_id>/", batches.batch, name="batch"),
    path("batches/<uuid:batch_id>/retry/", batches.batch_retry, name="batch-retry"),
    path("batches/<uuid:batch_id>/split/", batches.batch_split, name="batch-split"),
    path("imports/", imports.imports, name="imports"),
    path("imports/create/", imports.import_create, name="import-create"),
    path("imports/<uuid:import_id>/", imports.import_page, name="import"),
    path("imports/<uuid:import_id>/live/", imports.import_live, name="import-live"),
    path("imports/<uuid:import_id>/cancel/", imports.import_cancel, name="import-cancel"),
    path("imports/<uuid:import_id>/repeat/", imports.import_repeat, name="import-repeat"),
    path("imports/<uuid:import_id>/extract/", imports.import_extract, name="import-extract"),
    path("review/", review.queue, name="review"),
    path("review/<uuid:candidate_id>/", review.candidate, name="review-candidate"),
    path("review/<uuid:candidate_id>/decide/", review.decide, name="review-decide"),
    path("review/resolutions/<uuid:resolution_id>/undo/", review.undo, name="review-undo"),
    path("propositions/", propositions.propositions, name="propositions"),
    path("propositions/<uuid:proposition_id>/", propositions.proposition, name="proposition"),
    path("propositions/<uuid:proposition_id>/forget/", propositions.proposition_forget, name="proposition-forget"),
    path("propositions/<uuid:proposition_id>/restore/", propositions.proposition_restore, name="proposition-restore"),
    path("context/", context.context, name="context"),
    path("graph/", graph.graph, name="graph"),
    path("graph/data/", graph.graph_data, name="graph-data"),
    path("graph/chats/<uuid:chat_id>/budget/", graph.graph_budget, name="graph-budget"),
    path("documents/", documents.documents, name="documents"),
    path("documents/<str:file_id>/", documents.document, name="document"),
    path("documents/<str:file_id>/promote/", documents.document_promote, name="document-promote"),
]
